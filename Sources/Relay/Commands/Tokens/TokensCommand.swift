import JSON
import Programs
import Storage

/// `relay tokens`: lists a secret's access tokens, or revokes one.
enum TokensCommand {
    /// Reads the tokens and prints them, or revokes one.
    static func run(
        _ configuration: InspectionConfiguration, _ options: CommandOptions, _ style: OutputStyle
    ) -> ExitStatus {
        do throws(ExitStatus) {
            let subject = try SecretSubject(configuration, options, of: "tokens")
            let isJSON = options.has(.json)
            if let text = options.text(.revoke) {
                guard let id = UUIDv7(text) else {
                    StandardError.message(
                        "--revoke is not the ID of a token. " + RelayCommand.table.hint("tokens"))
                    return .usage
                }
                return NamedRemoval.accessToken(id).run(of: subject, configuration, isJSON: isJSON)
            }
            return Inspection.run(configuration) { storage throws(StorageError) in
                let tokens = try await storage.accessTokens(of: subject.key, limit: Bounds.accessTokensMax)
                StandardOutput.write(isJSON ? json(tokens) : Self.text(tokens, of: subject.key, style))
                return .success
            }
        } catch {
            return error
        }
    }

    /// The tokens as a table.
    static func text(_ tokens: [AccessToken], of key: SecretKey, _ style: OutputStyle) -> String {
        guard !tokens.isEmpty else { return "Secret \(key): no access tokens\n" }
        var table = TextTable([
            .init(heading: "NAME", widthMax: 40), .init(heading: "SCOPE"), .init(heading: "CREATED"),
            .init(heading: "USED"), .init(heading: "EXPIRES"), .init(heading: "TOKEN"),
        ])
        for token in tokens {
            table.add([
                .init(token.name), .init(token.scope.rawValue), .init(Timestamp(token.createdAt).toTheSecond),
                .init(token.usedAt.map { Timestamp($0).toTheSecond } ?? ""),
                .init(token.expiresAt.map { Timestamp($0).toTheSecond } ?? ""), .init(token.id.text),
            ])
        }
        return "Secret \(key): times in UTC\n" + table.text(style)
    }

    /// The tokens as one JSON object on a line.
    static func json(_ tokens: [AccessToken]) -> String {
        let list: JSON.Value = ["tokens": .array(tokens.map(\.shown))]
        return String(decoding: list.encoded(), as: UTF8.self) + "\n"
    }
}

extension RelayCommand {
    static let tokens = RelayCommand(
        "tokens", "List a secret's access tokens, or revoke one.",
        about: """
            Lists the access tokens of the secret in RELAY_SECRET, --secret-file or --secret-hash, and asks for
            the secret if none is given. The tokens themselves are not stored. With --revoke it removes the
            token with this ID, which is refused from then on. If a running relay uses the SQLite file, the
            command sends the request to its RELAY_ADMIN_LISTEN.
            """,
        usages: ["[--secret-hash PREFIX] [--revoke TOKEN] [--json] [--SETTING VALUE]..."],
        options: [.secretHash, .revoke, .json],
        settings: .inspection + .ofSecret + .change
    ) { call throws(ConfigurationError) in
        TokensCommand.run(try call.inspection(), call.options, call.style)
    }
}

extension CommandOption {
    static let revoke = CommandOption(
        "--revoke", .text("TOKEN"), "Revoke the token with this ID instead of listing.")
}
