import JSON
import Programs
import Storage

/// `relay block` and `relay unblock`: make every relay that uses a database refuse a secret, or serve it again.
enum BlockCommand {
    /// Blocks the given hash, or lists the blocked ones.
    static func block(
        _ configuration: InspectionConfiguration, _ options: CommandOptions, _ style: OutputStyle
    ) -> ExitStatus {
        let digits = options.text(.secretHash)
        guard !options.has(.list) else {
            guard digits == nil, !options.has(.note) else {
                return usage("--list can't be combined with a hash or --note", "block")
            }
            return list(configuration, isJSON: options.has(.json), style)
        }
        guard let digits else {
            return usage("a hash is missing: relay block HASH, or relay block --list", "block")
        }
        let note = options.text(.note)
        guard note?.utf8.count ?? 0 <= StorageLimits.blockNoteBytes else {
            return usage("--note is longer than \(StorageLimits.blockNoteBytes) bytes", "block")
        }
        return change(digits, in: .everyTable, configuration, options) { hash in
            let secret = BlockedSecret(secretHash: hash, createdAt: WallClock.system.now, note: note)
            return DatabaseChange(
                configuration: configuration, path: .block, body: request(hash, note: note),
                read: BlockAnswer.init(json:),
                make: { storage throws(StorageError) in
                    BlockAnswer(
                        try await storage.block(secret, limit: StorageLimits.blockedSecretsMax), secret)
                })
        }
    }

    /// Unblocks the given hash.
    static func unblock(
        _ configuration: InspectionConfiguration, _ options: CommandOptions
    ) -> ExitStatus {
        guard let digits = options.text(.secretHash) else {
            return usage("a hash is missing: relay unblock HASH", "unblock")
        }
        return change(digits, in: .blocked, configuration, options) { hash in
            DatabaseChange(
                configuration: configuration, path: .unblock, body: request(hash, note: nil),
                read: BlockAnswer.init(json:),
                make: { storage throws(StorageError) in
                    BlockAnswer(outcome: try await storage.unblock(hash) ? .unblocked : .notBlocked)
                })
        }
    }

    private static func change(
        _ digits: String, in scope: SecretHashScope, _ configuration: InspectionConfiguration,
        _ options: CommandOptions, _ make: (SecretHash) -> DatabaseChange<BlockAnswer>
    ) -> ExitStatus {
        let isJSON = options.has(.json)
        do throws(ExitStatus) {
            let hash = try SecretHashSearch.require(digits, in: scope, configuration)
            let change = make(hash)
            return CommandTask.run {
                do throws(ExitStatus) {
                    return show(try await change.run(), of: hash, isJSON: isJSON)
                } catch {
                    return error
                }
            }
        } catch {
            return error
        }
    }

    private static func request(_ hash: SecretHash, note: String?) -> [UInt8] {
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("secretHash", hash.hex)
        if let note { writer.member("note", note) }
        writer.endObject()
        return writer.finish()
    }

    private static func usage(_ problem: String, _ command: String) -> ExitStatus {
        StandardError.message("\(problem). \(RelayCommand.table.hint(command))")
        return .usage
    }

    private static func show(_ answer: BlockAnswer, of hash: SecretHash, isJSON: Bool) -> ExitStatus {
        guard answer.outcome != .limitReached else {
            StandardError.message(
                "\(CopyProgress.grouped(StorageLimits.blockedSecretsMax)) secrets are blocked, which is the limit: "
                    + "unblock some of them (relay block --list)")
            return .data
        }
        StandardOutput.write(isJSON ? json(answer, of: hash) : text(answer, of: hash))
        return .success
    }

    /// The message after the change.
    static func text(_ answer: BlockAnswer, of hash: SecretHash) -> String {
        switch answer.outcome {
        case .blocked:
            """
            Secret \(hash): blocked. Every relay that uses the database refuses it within a few seconds.
            Its devices stay registered; relay revoke --secret-hash \(hash.prefix) removes them.

            """
        case .alreadyBlocked:
            "Secret \(hash): already blocked"
                + (answer.since.map { " since \(Timestamp($0).toTheSecond) UTC" } ?? "") + "\n"
        case .limitReached: ""
        case .unblocked: "Secret \(hash): no longer blocked. Relays accept it again within a few seconds.\n"
        case .notBlocked: "Secret \(hash): wasn't blocked\n"
        }
    }

    private static func json(_ answer: BlockAnswer, of hash: SecretHash) -> String {
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("secretHash", hash.hex)
        writer.member("outcome", answer.outcome.rawValue)
        if let since = answer.since { writer.member("since", Timestamp(since).text) }
        writer.endObject()
        return String(decoding: writer.finish(), as: UTF8.self) + "\n"
    }

    // MARK: The list

    private static func list(
        _ configuration: InspectionConfiguration, isJSON: Bool, _ style: OutputStyle
    ) -> ExitStatus {
        Inspection.run(configuration) { storage throws(StorageError) in
            let blocked = try await storage.blockedSecrets(limit: StorageLimits.blockedSecretsMax)
            StandardOutput.write(isJSON ? json(blocked) : text(blocked, style))
            return .success
        }
    }

    /// The list of blocked secrets as text.
    static func text(_ blocked: [BlockedSecret], _ style: OutputStyle) -> String {
        guard !blocked.isEmpty else { return "No secret is blocked\n" }
        var table = TextTable([
            .init(heading: "SECRET"), .init(heading: "BLOCKED"), .init(heading: "NOTE", widthMax: 120),
        ])
        for secret in blocked {
            table.add([
                .init(secret.secretHash.description), .init(Timestamp(secret.createdAt).toTheSecond),
                .init(secret.note ?? ""),
            ])
        }
        let count = blocked.count
        return "\(CopyProgress.grouped(count)) blocked secret\(count == 1 ? "" : "s"); times in UTC\n"
            + table.text(style)
    }

    private static func json(_ blocked: [BlockedSecret]) -> String {
        var writer = JSON.Writer()
        writer.beginObject()
        writer.name("blocked")
        writer.beginArray()
        for secret in blocked {
            writer.beginObject()
            writer.member("secretHash", secret.secretHash.hex)
            writer.member("since", Timestamp(secret.createdAt).text)
            if let note = secret.note { writer.member("note", note) }
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return String(decoding: writer.finish(), as: UTF8.self) + "\n"
    }
}

extension RelayCommand {
    static let block = RelayCommand(
        "block", "Refuse a secret's events and registrations on every relay that uses the database.",
        about: """
            Makes every relay that uses the database refuse a secret's events and registrations with
            403 blocked, within a few seconds. HASH is the secret's hash or at least its first 8 digits, as
            shown in log lines; it must match one secret. Queued pushes fail with the reason Blocked when they
            become due. Devices stay registered; relay revoke removes them. If a running relay uses the SQLite
            file, the command sends the request to its RELAY_ADMIN_LISTEN. At most
            \(StorageLimits.blockedSecretsMax) secrets can be blocked.

            Exit statuses: 0 blocked, even if it already was, 64 usage error, 65 no secret or more than one
            matches the hash, or too many are blocked, 69 the database or the relay is unavailable.
            """,
        usages: ["HASH [--note TEXT] [--json] [--SETTING VALUE]...", "--list [--json] [--SETTING VALUE]..."],
        arguments: [.secretHash],
        options: [.secretHash, .list, .note, .json],
        settings: .inspection + .change
    ) { call throws(ConfigurationError) in
        BlockCommand.block(try call.inspection(), call.options, call.style)
    }
}

extension RelayCommand {
    static let unblock = RelayCommand(
        "unblock", "Serve a blocked secret again.",
        about: """
            Makes the relays serve a blocked secret again. HASH is the secret's hash or at least its first 8
            digits, as shown by relay block --list.

            Exit statuses: 0 no longer blocked, 64 usage error, 65 no blocked secret or more than one matches,
            69 the database or the relay is unavailable.
            """,
        usages: ["HASH [--json] [--SETTING VALUE]..."],
        arguments: [.secretHash],
        options: [.secretHash, .json],
        settings: .inspection + .change
    ) { call throws(ConfigurationError) in
        BlockCommand.unblock(try call.inspection(), call.options)
    }
}

extension CommandOption {
    static let list = CommandOption("--list", "List the blocked secrets.")
    static let note = CommandOption(
        "--note", .text("TEXT"),
        "The reason for the block, shown by --list; at most \(StorageLimits.blockNoteBytes) bytes.")
}
