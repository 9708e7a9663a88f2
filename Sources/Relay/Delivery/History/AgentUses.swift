import Network
import Programs
import Storage

/// Stores when agents last used secrets, shortly after each use.
///
/// A secret's use is stored at most once every 30 seconds, and only by ``run()``, so no response waits for it. Only
/// uses of secrets with devices are recorded, so strangers can't fill the memory.
final class AgentUses: Sendable {
    private struct Known {
        let at: MonotonicTime
        /// Truncated as in the database.
        let client: String?
    }

    private struct State: BatchBuffer {
        /// Recent uses.
        var known: [SecretHash: Known] = [:]
        var waiting: [SecretHash: (use: AgentUse, key: SecretKey)] = [:]
        /// When old uses were last removed.
        var sweptAt: MonotonicTime?
        var isFinished = false

        /// Whether a use by the same client was recorded recently.
        func isFresh(_ use: AgentUse, _ key: SecretKey, at now: MonotonicTime) -> Bool {
            guard let known = known[key.primary], now.since(known.at) < Bounds.agentUseInterval else {
                return false
            }
            return use.client == nil || use.client == known.client
        }

        /// Removes old uses when the store is full, at most once per interval, because the search takes a long time.
        mutating func makeRoom(at now: MonotonicTime) {
            guard known.count >= Bounds.agentUsesMax,
                sweptAt.map({ now.since($0) >= Bounds.agentUseInterval }) ?? true
            else { return }
            sweptAt = now
            known = known.filter { now.since($0.value.at) < Bounds.agentUseInterval }
        }

        mutating func takeBatch() -> [(use: AgentUse, key: SecretKey)]? {
            let batch = Array(waiting.prefix(Bounds.agentUsesPerBatchMax))
            for (hash, _) in batch { waiting[hash] = nil }
            return batch.isEmpty ? nil : batch.map(\.value)
        }
    }

    private let storage: any AgentStorage
    private let log: Log
    private let writer = BatchWriter(State())

    /// Creates an empty store; nothing is written before ``run()``.
    init(storage: any AgentStorage, log: Log) {
        self.storage = storage
        self.log = log
    }

    /// Whether a use should be recorded because none was recorded recently.
    func isDue(_ key: SecretKey, client: String?, at now: MonotonicTime) -> Bool {
        let use = AgentUse(usedAt: 0, client: client)
        return writer.withBuffer { !$0.isFresh(use, key, at: now) }
    }

    /// Records a use of a secret that has devices, unless one was recorded recently.
    ///
    /// - Parameters:
    ///   - client: The client's name; nil if the request doesn't contain it.
    ///   - now: The current time by both clocks.
    func note(
        _ key: SecretKey, client: String?, at now: (wall: EpochMilliseconds, monotonic: MonotonicTime)
    ) {
        let given = AgentUse(usedAt: now.wall, client: client)
        writer.add { state in
            let known = state.known[key.primary]
            guard !state.isFinished, !state.isFresh(given, key, at: now.monotonic) else { return false }
            if known == nil { state.makeRoom(at: now.monotonic) }
            guard known != nil || state.known.count < Bounds.agentUsesMax,
                state.waiting.count < Bounds.agentUsesMax
            else { return false }
            let use = AgentUse(usedAt: now.wall, client: given.client ?? known?.client)
            state.known[key.primary] = Known(at: now.monotonic, client: use.client)
            state.waiting[key.primary] = (use, key)
            return true
        }
    }

    /// Stores uses as they arrive until ``finish()``, then stores the rest and returns.
    func run() async {
        await writer.run { uses in
            do throws(StorageError) {
                try await storage.note(uses)
            } catch {
                // The secret's next use is stored instead.
                log(.warning, "agent_use.dropped", [.count("uses", uses.count), .storageError(error)])
            }
        }
    }

    /// Ends ``run()``; later uses are dropped.
    func finish() { writer.finish() }
}

extension AgentUse {
    /// The time since the last use, in a form that an app can show.
    enum Freshness: String, CaseIterable {
        case connected, recent, idle
    }

    /// How recent the use is.
    func freshness(at now: EpochMilliseconds) -> Freshness {
        switch now - usedAt {
        case ..<Bounds.agentConnectedTime.inMilliseconds: .connected
        case ..<Bounds.agentRecentTime.inMilliseconds: .recent
        default: .idle
        }
    }
}
