import Network
import Storage

/// `relay revoke`: removes a secret's devices, the pushes that wait for them and its receipts.
enum RevokeCommand {
    /// Shows what would go, asks, and removes it; nothing is left for a second run.
    static func run(
        _ configuration: InspectionConfiguration, _ options: CommandOptions
    ) -> ExitStatus {
        let isMeant = options.has(.yes)
        guard isMeant || TerminalPrompt.isPossible else {
            StandardError.message(
                "relay revoke asks before it removes anything, and there is no terminal to ask at: use --yes. "
                    + HelpText.hint(.revoke))
            return .usage
        }
        do throws(ExitStatus) {
            let secret = try SecretInput.require(configuration.secret)
            let revocation = RevokeTask(
                configuration: configuration, secret: secret,
                key: configuration.hasher.key(of: secret), isJSON: options.has(.json))
            return try revocation.run(isMeant: isMeant)
        } catch {
            return error
        }
    }

    /// What is said when it is done.
    static func removed(_ removed: Holdings, of key: SecretKey) -> String {
        "Secret \(key): removed \(removed.text)\n"
    }

    /// What a person is asked.
    static func question(_ holdings: Holdings, of key: SecretKey) -> String {
        "Secret \(key) has \(holdings.text).\nRemove all of that? Its phones get no pushes until they register again "
            + "[yes/no] "
    }
}

/// One secret's revocation.
private struct RevokeTask: Sendable {
    let configuration: InspectionConfiguration
    let secret: Secret
    let key: SecretKey
    let isJSON: Bool

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
        do throws(StorageError) {
            let storage = try await OpenStorage.openWriting(
                configuration.database, options: configuration.options)
            do throws(StorageError) {
                let removed = try await storage.revokeAll(key)
                await storage.close()
                return done(removed)
            } catch {
                await storage.close()
                throw error
            }
        } catch {
            if case .inUse = error { return await askRunningRelay() }
            let place = OpenStorage.description(of: configuration.database)
            StandardError.message("\(place): \(error.logDetail)")
            return .unavailable
        }
    }

    /// A relay is running on the file, and is the only one that may change it.
    private func askRunningRelay() async -> ExitStatus {
        let place = OpenStorage.description(of: configuration.database)
        let advice = "run this command where that relay runs, with its RELAY_ADMIN_LISTEN, or stop it first"
        guard let address = configuration.admin.address else {
            StandardError.message(
                "a relay is running on \(place) and RELAY_ADMIN_LISTEN is off, so it can't be asked: \(advice)"
            )
            return .unavailable
        }
        switch await RunningRelay.revoke(secret, at: address, token: configuration.adminToken) {
        case .success(let removed):
            return done(removed)
        case .failure(let fault):
            StandardError.message(
                "a relay is running on \(place) and its admin listener, expected at \(address), is of no help: "
                    + "\(fault.reason); \(advice)")
            return .unavailable
        }
    }

    private func done(_ removed: Holdings) -> ExitStatus {
        say(removed, RevokeCommand.removed(removed, of: key))
        return .success
    }

    private func say(_ removed: Holdings, _ words: String) {
        StandardOutput.write(isJSON ? String(decoding: removed.json, as: UTF8.self) + "\n" : words)
    }
}
