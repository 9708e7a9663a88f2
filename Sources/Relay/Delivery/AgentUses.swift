import Network
import Storage

/// Stores when agents last used secrets, a moment after they did.
///
/// A secret's use is stored at most every 30 seconds, and by ``run()`` alone, so no answer waits for it. Only uses of
/// secrets with devices are noted, so strangers take up no room.
final class AgentUses: Sendable {
    private struct Known {
        let at: MonotonicTime
        /// Cut as it is stored.
        let client: String?
    }

    private struct State {
        /// The uses of the last seconds.
        var known: [SecretHash: Known] = [:]
        var waiting: [SecretHash: (use: AgentUse, key: SecretKey)] = [:]
        /// When old uses were last looked for.
        var sweptAt: MonotonicTime?
        var isFinished = false

        /// Whether a use by the same client was noted moments ago.
        func isFresh(_ use: AgentUse, _ key: SecretKey, at now: MonotonicTime) -> Bool {
            guard let known = known[key.primary], now.since(known.at) < Bounds.agentUseInterval else {
                return false
            }
            return use.client == nil || use.client == known.client
        }

        /// Forgets old uses where there is no room, at most once per interval: the search takes long.
        mutating func makeRoom(at now: MonotonicTime) {
            guard known.count >= Bounds.agentUsesMax,
                sweptAt.map({ now.since($0) >= Bounds.agentUseInterval }) ?? true
            else { return }
            sweptAt = now
            known = known.filter { now.since($0.value.at) < Bounds.agentUseInterval }
        }
    }

    private let storage: any AgentStorage
    private let log: Log
    private let state = Lock(State())
    private let wakeUps: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    /// No uses yet; none is stored before ``run()``.
    init(storage: any AgentStorage, log: Log) {
        self.storage = storage
        self.log = log
        (wakeUps, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Whether a use is worth noting: none was noted moments ago.
    func isDue(_ key: SecretKey, client: String?, at now: MonotonicTime) -> Bool {
        let use = AgentUse(usedAt: 0, client: client)
        return state.withLock { !$0.isFresh(use, key, at: now) }
    }

    /// Notes a use of a secret that has devices, unless one was noted moments ago.
    ///
    /// - Parameters:
    ///   - client: What the client calls itself; nil if this request doesn't say.
    ///   - now: The current time by both clocks.
    func note(
        _ key: SecretKey, client: String?, at now: (wall: EpochMilliseconds, monotonic: MonotonicTime)
    ) {
        let given = AgentUse(usedAt: now.wall, client: client)
        let isNew = state.withLock { state in
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
        if isNew { wake.yield() }
    }

    /// Stores uses as they arrive until ``finish()``, then stores the rest and returns.
    func run() async {
        for await _ in wakeUps { await storeAll() }
        await storeAll()
    }

    /// Ends ``run()``; later uses are dropped.
    func finish() {
        state.withLock { $0.isFinished = true }
        wake.finish()
    }

    private func storeAll() async {
        while true {
            let batch = state.withLock { state in
                let batch = Array(state.waiting.prefix(Bounds.agentUsesPerBatchMax))
                for (hash, _) in batch { state.waiting[hash] = nil }
                return batch.map(\.value)
            }
            guard !batch.isEmpty else { return }
            do throws(StorageError) {
                try await storage.note(batch)
            } catch {
                // The next use is stored again.
                log(.warning, "agent_use.dropped", [.count("uses", batch.count), .storageError(error)])
            }
        }
    }
}

extension AgentUse {
    /// How an app can show the time since the last use.
    enum Freshness: String, CaseIterable {
        case connected, recent, idle
    }

    /// How fresh the use is.
    func freshness(at now: EpochMilliseconds) -> Freshness {
        switch now - usedAt {
        case ..<Bounds.agentConnectedTime.inMilliseconds: .connected
        case ..<Bounds.agentRecentTime.inMilliseconds: .recent
        default: .idle
        }
    }
}
