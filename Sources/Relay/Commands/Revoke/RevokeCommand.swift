import JSON
import Network
import Programs
import Storage

/// `relay revoke`: removes a secret's devices, queued pushes and receipts.
enum RevokeCommand {
    /// Shows what would be removed, asks for confirmation, and removes it; a second run finds nothing.
    static func run(
        _ configuration: InspectionConfiguration, _ options: CommandOptions
    ) -> ExitStatus {
        let isMeant = options.has(.yes)
        guard isMeant || TerminalPrompt.isPossible else {
            StandardError.message(
                "relay revoke asks for confirmation, but there is no terminal: use --yes. "
                    + RelayCommand.table.hint("revoke"))
            return .usage
        }
        do throws(ExitStatus) {
            let revocation = RevokeTask(
                configuration: configuration,
                subject: try SecretSubject(configuration, options, of: "revoke"),
                isJSON: options.has(.json))
            return try revocation.run(isMeant: isMeant)
        } catch {
            return error
        }
    }

    /// The message after the removal.
    static func removed(_ removed: Holdings, of key: SecretKey) -> String {
        "Secret \(key): removed \(removed.text)\n"
    }

    /// The confirmation question.
    static func question(_ holdings: Holdings, of key: SecretKey) -> String {
        "Secret \(key) has \(holdings.text).\nRemove all of that? Its phones get no pushes until they register again "
            + "[yes/no] "
    }
}

/// Revokes one secret.
private struct RevokeTask: Sendable {
    let configuration: InspectionConfiguration
    let subject: SecretSubject
    let isJSON: Bool

    private var key: SecretKey { subject.key }

    func run(isMeant: Bool) throws(ExitStatus) -> ExitStatus {
        let found = Lock(Holdings())
        let status = Inspection.run(configuration) { storage throws(StorageError) in
            let holdings = try await storage.holdings(of: key)
            found.withLock { $0 = holdings }
            return .success
        }
        guard status == .success else { return status }
        let holdings = found.withLock { $0 }
        guard !holdings.isEmpty else {
            say(Holdings(), "Secret \(key): nothing to revoke\n")
            return .success
        }
        if !isMeant { try ask(holdings) }
        return CommandTask.run { await remove() }
    }

    private func ask(_ holdings: Holdings) throws(ExitStatus) {
        switch TerminalPrompt.ask(RevokeCommand.question(holdings, of: key), isShown: true) {
        case .line(let bytes)
        where ["yes", "y"].contains(String(decoding: bytes, as: UTF8.self).lowercased()):
            return
        case .line, .interrupted, .noTerminal:
            StandardError.message("nothing was removed")
            throw .interrupted
        }
    }

    private func remove() async -> ExitStatus {
        let change = DatabaseChange(
            configuration: configuration, path: .revoke, body: subject.request(), read: Holdings.init(json:),
            make: { [key] storage throws(StorageError) in try await storage.revokeAll(key) })
        do throws(ExitStatus) {
            let removed = try await change.run()
            say(removed, RevokeCommand.removed(removed, of: key))
            return .success
        } catch {
            return error
        }
    }

    private func say(_ removed: Holdings, _ words: String) {
        StandardOutput.write(isJSON ? String(decoding: removed.json, as: UTF8.self) + "\n" : words)
    }
}

extension RelayCommand {
    static let revoke = RelayCommand(
        "revoke", "Remove all of a secret's data: devices, queued pushes, history, schedules.",
        about: """
            Removes all of a secret's data: devices, queued pushes, receipts, history, schedules, replies
            and access tokens. It first shows what it will remove and asks for confirmation. The delivery log
            and a block stay. If a running relay uses the SQLite file, the command sends the request to its
            RELAY_ADMIN_LISTEN. A second run finds nothing to remove. With --secret-hash it removes the rows of
            the one hash that begins with these digits.

            Anyone who knows the secret can still register a device of their own: give the phone and the
            OpenCode server a new secret.
            """,
        options: [.secretHash, .yes, .json],
        settings: .inspection + .ofSecret + .change
    ) { call throws(ConfigurationError) in
        RevokeCommand.run(try call.inspection(), call.options)
    }
}

extension CommandOption {
    static let yes = CommandOption("--yes", "Don't ask for confirmation.")
}
