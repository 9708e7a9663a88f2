import Network
import Storage

/// The list of secrets that this relay refuses, which is at most a few seconds old.
///
/// Requests check only this list, never the database: ``run(every:)`` repeatedly reads the whole list, which is small
/// (`StorageLimits.blockedSecretsMax`). While the database can't be read, the last list applies.
final class BlockList: Sendable {
    private struct State {
        var hashes: Set<SecretHash> = []
        /// Keys refused because a legacy hash is blocked, by primary hash; their rows have yet to be moved.
        var toMove: [SecretHash: SecretKey] = [:]
        /// Whether the last read failed.
        var isStale = false
    }

    private let storage: any BlockStorage & RegistrationStorage
    private let log: Log
    private let state = Lock(State())

    /// Creates an empty list for a database.
    init(storage: any BlockStorage & RegistrationStorage, log: Log) {
        self.storage = storage
        self.log = log
    }

    /// Whether a secret is blocked under any of its hashes.
    func contains(_ key: SecretKey) -> Bool {
        state.withLock { state in
            guard !state.hashes.isEmpty else { return false }
            if state.hashes.contains(key.primary) { return true }
            guard key.hasLegacy, key.legacy.contains(where: state.hashes.contains) else { return false }
            // Only someone who knows the secret can know that the two hashes belong together.
            if state.toMove.count < Bounds.blocksMovedPerRound { state.toMove[key.primary] = key }
            return true
        }
    }

    /// Whether rows under a hash belong to a blocked secret.
    func contains(_ hash: SecretHash) -> Bool {
        state.withLock { $0.hashes.contains(hash) }
    }

    func read() async throws(StorageError) {
        let blocked = try await storage.blockedSecrets(limit: StorageLimits.blockedSecretsMax)
        let hashes = Set(blocked.map(\.secretHash))
        let (isChanged, wasStale) = state.withLock { state in
            defer { (state.hashes, state.isStale) = (hashes, false) }
            return (state.hashes != hashes, state.isStale)
        }
        if isChanged || wasStale { log(.info, "blocked.read", [.count("secrets", hashes.count)]) }
    }

    /// Reads the list, moves pending rows, and logs the first of several consecutive failures.
    func refresh() async {
        do throws(StorageError) {
            try await read()
            for key in state.withLock({ state in Array(state.toMove.values) }) {
                // The key is removed even if the move fails, because the next refused request adds it again.
                state.withLock { $0.toMove[key.primary] = nil }
                guard try await storage.rehash(key) else { continue }
                // Queued pushes have moved to the new hash, and this relay may claim them before it reads the list
                // again.
                state.withLock { _ = $0.hashes.insert(key.primary) }
                log(.info, "secret.rehashed", [.secretHash(key.primary)])
            }
        } catch {
            let isFirst = state.withLock { state in
                defer { state.isStale = true }
                return !state.isStale
            }
            if isFirst { log(.warning, "blocked.unreadable", [.storageError(error)]) }
        }
    }

    /// Reads the list every few seconds until its task is cancelled.
    func run(
        pause: @Sendable () async throws -> Void = { try await Task.sleep(for: Bounds.blocksReadInterval) }
    ) async {
        while (try? await pause()) != nil { await refresh() }
    }
}
