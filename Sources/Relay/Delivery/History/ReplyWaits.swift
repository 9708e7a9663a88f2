import Network
import Programs
import Storage

/// Stores acknowledgements, replies and results; lets senders wait for replies and outcomes, and phones for results.
///
/// A reply that arrives at this relay ends the waits for it immediately. ``run()`` finds replies that arrive at other
/// relays: it queries the database once per interval for all waits of the process.
final class ReplyWaits: Sendable {
    /// Limits.
    struct Options: Sendable {
        /// Maximum concurrent waits per secret for replies and results.
        var perSecretMax = Bounds.replyWaitsPerSecretMax
        /// Maximum concurrent waits per secret for outcomes.
        var outcomesPerSecretMax = Bounds.outcomeWaitsPerSecretMax
        /// Maximum concurrent waits per process; each new wait beyond that ends the longest-running one.
        var totalMax = Bounds.replyWaitsMax
        /// The pause between two database queries.
        var pollInterval = Bounds.replyPollInterval
        /// The pause between two checks for outcomes.
        var outcomePollInterval = Bounds.outcomePollInterval
    }

    /// The counters.
    struct Figures: Sendable, Equatable {
        /// Events that were acknowledged without a reply.
        var acknowledged: UInt64 = 0
        /// Replies that were stored.
        var replied: UInt64 = 0
        /// Results of replies that were stored.
        var reported: UInt64 = 0
        /// Acknowledgements, replies and results for events that already had one, including equal ones.
        var repeated: UInt64 = 0
        /// Acknowledgements and replies for events that the relay doesn't know.
        var unknown: UInt64 = 0
        /// Senders and phones that are waiting now.
        var waiting = 0
    }

    /// The purpose of a wait.
    enum Goal: Sendable {
        /// A sender waits for a reply.
        case reply
        /// A phone waits for its reply's result.
        case result
        /// A sender waits for the outcomes of its secret's pushes, and checks for them itself.
        case outcomes

        /// Whether there is nothing left to wait for.
        func isReached(_ known: Acknowledgement?) -> Bool {
            switch self {
            case .reply: known?.reply != nil
            case .result: known?.result != nil
            case .outcomes: false
            }
        }
    }

    /// The result of a wait.
    enum End: Sendable {
        /// The event's acknowledgement with its reply or result; after a timeout, the last known state.
        case known(Acknowledgement?)
        /// The secret has too many waits.
        case tooMany
        /// The database couldn't be queried for a reply or a result.
        case failed(StorageError)
    }

    private struct State {
        var waits: [UInt64: ReplyWait] = [:]
        var byEvent: [EventName: Set<UInt64>] = [:]
        var bySecret: [ReplyWait.Share: Int] = [:]
        var lastNumber: UInt64 = 0
        /// Why the last database query failed.
        var failure: StorageError?
        var figures = Figures()
        var isFinished = false

        mutating func add(_ wait: ReplyWait) {
            // Without waits the database isn't queried, so the stored error is outdated.
            if waits.isEmpty { failure = nil }
            lastNumber += 1
            waits[lastNumber] = wait
            if wait.goal != .outcomes { byEvent[wait.event, default: []].insert(lastNumber) }
            bySecret[wait.share, default: 0] += 1
            wait.number = lastNumber
        }

        @discardableResult
        mutating func remove(_ number: UInt64) -> ReplyWait? {
            guard let wait = waits.removeValue(forKey: number) else { return nil }
            byEvent[wait.event]?.remove(number)
            if byEvent[wait.event]?.isEmpty == true { byEvent[wait.event] = nil }
            bySecret[wait.share] = bySecret[wait.share].flatMap { $0 > 1 ? $0 - 1 : nil }
            return wait
        }

        /// Updates an event's waits with its state; returns the waits that are over.
        mutating func note(_ acknowledgement: Acknowledgement, of event: EventName) -> [ReplyWait] {
            let numbers = byEvent[event] ?? []
            for number in numbers { waits[number]?.known = acknowledgement }
            return numbers.filter { waits[$0]?.goal.isReached(acknowledgement) == true }
                .compactMap { remove($0) }
        }
    }

    private let storage: any ReplyStorage
    private let clock: WallClock
    private let options: Options
    private let pause: @Sendable (Duration) async throws -> Void
    private let state = Lock(State())
    private let wakeUps: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    /// Creates a value without waits; unless ``run()`` is running, only replies that arrive here end waits early.
    ///
    /// - Parameter pause: Waits between two database queries; throws to end ``run()``.
    init(
        storage: any ReplyStorage, clock: WallClock, options: Options = Options(),
        pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.storage = storage
        self.clock = clock
        self.options = options
        self.pause = pause
        (wakeUps, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    var figures: Figures {
        state.withLock { state in
            var figures = state.figures
            figures.waiting = state.waits.count
            return figures
        }
    }

    /// Stores an acknowledgement or a reply, and ends the waits for it.
    func acknowledge(
        _ event: EventName, reply: EventReply?
    ) async throws(StorageError) -> AcknowledgementResult {
        let result = try await storage.acknowledge(event, reply: reply, at: clock.now)
        note(result, of: event, counting: reply == nil ? \.acknowledged : \.replied)
        return result
    }

    /// Stores the result of the reply to an event, and ends the waits for it.
    func report(
        _ result: ReplyResult, of event: EventName
    ) async throws(StorageError) -> AcknowledgementResult {
        let stored = try await storage.report(result, of: event, at: clock.now)
        note(stored, of: event, counting: \.reported)
        return stored
    }

    private func note(
        _ result: AcknowledgementResult, of event: EventName,
        counting figure: WritableKeyPath<Figures, UInt64>
    ) {
        let ended = state.withLock { state -> [ReplyWait] in
            switch result {
            case .stored(let acknowledgement):
                state.figures[keyPath: figure] += 1
                return state.note(acknowledgement, of: event)
            case .existing(let acknowledgement):
                state.figures.repeated += 1
                return state.note(acknowledgement, of: event)
            case .unknownEvent:
                state.figures.unknown += 1
                return []
            case .notOffered: return []
            }
        }
        for wait in ended { wait.end() }
    }

    /// The current state of an event.
    func known(of event: EventName) async throws(StorageError) -> Acknowledgement? {
        try await storage.acknowledgements(of: [event], at: clock.now)[event]
    }

    /// Waits until an event has a reply or a result, `limit` has passed, the task is cancelled or ``finish()`` is
    /// called.
    ///
    /// Call it on the loop.
    nonisolated(nonsending) func wait(
        for goal: Goal = .reply, of event: EventName, knowing known: Acknowledgement?,
        within limit: Duration, on loop: EventLoop
    ) async -> End {
        let wait = ReplyWait(for: goal, of: event, known: known)
        guard begin(wait) else { return .tooMany }
        await wait.pause(for: limit, on: loop)
        return state.withLock { state in
            state.remove(wait.number)
            if goal.isReached(wait.known) { return .known(wait.known) }
            return state.failure.map { .failed($0) } ?? .known(wait.known)
        }
    }

    /// Calls `look` every ``Options/outcomePollInterval`` until it finds something, `limit` has passed, the task is
    /// cancelled or ``finish()`` is called.
    ///
    /// Call it on the loop.
    ///
    /// - Parameter look: Returns `nil` if it finds nothing.
    /// - Throws: `rate_limited` if the secret has too many waits, and what `look` throws.
    nonisolated(nonsending) func wait<Found>(
        of key: SecretKey, within limit: Duration, on loop: EventLoop,
        looking look: nonisolated(nonsending) () async throws(APIError) -> Found?
    ) async throws(APIError) -> Found? {
        let wait = ReplyWait(for: .outcomes, of: EventName("", of: key), known: nil)
        guard begin(wait) else { throw .tooManyWaits }
        defer { state.withLock { _ = $0.remove(wait.number) } }
        let end = loop.now + limit
        while !wait.isEnded, loop.now < end {
            await wait.pause(for: min(end.since(loop.now), options.outcomePollInterval), on: loop)
            if let found = try await look() { return found }
        }
        return nil
    }

    /// Adds a wait and ends the longest-running one if there are too many; returns false if its secret has too many.
    private func begin(_ wait: ReplyWait) -> Bool {
        var oldest: ReplyWait?
        let isTaken = state.withLock { state -> Bool in
            guard !state.isFinished else {
                oldest = wait
                return true
            }
            let most = wait.goal == .outcomes ? options.outcomesPerSecretMax : options.perSecretMax
            guard state.bySecret[wait.share, default: 0] < most else { return false }
            if state.waits.count >= options.totalMax, let first = state.waits.keys.min() {
                oldest = state.remove(first)
            }
            state.add(wait)
            return true
        }
        guard isTaken else { return false }
        oldest?.end()
        wake.yield()
        return true
    }

    /// Checks for replies and results while there are waits, until ``finish()`` is called or the task is cancelled.
    func run() async {
        for await _ in wakeUps {
            while state.withLock({ !$0.waits.isEmpty }) {
                guard (try? await pause(options.pollInterval)) != nil else { return }
                await poll()
            }
        }
    }

    /// Ends all waits; later ones end immediately.
    func finish() {
        let waits = state.withLock { state in
            state.isFinished = true
            return Array(state.waits.values)
        }
        for wait in waits { wait.end() }
        wake.finish()
    }

    private func poll() async {
        let events = Set(state.withLock { $0.byEvent.keys })
        guard !events.isEmpty else { return }
        do throws(StorageError) {
            let found = try await storage.acknowledgements(of: events, at: clock.now)
            let ended = state.withLock { state in
                state.failure = nil
                return found.flatMap { state.note($0.value, of: $0.key) }
            }
            for wait in ended { wait.end() }
        } catch {
            // Retried until each wait's time is over.
            state.withLock { $0.failure = error }
        }
    }
}

extension APIError {
    /// The error for a wait beyond its secret's maximum.
    static var tooManyWaits: APIError {
        APIError(
            .rateLimited, hint: "This secret has too many waits.",
            retryAfterSeconds: Bounds.replyWaitRetryAfterSeconds, limit: .replyWaits)
    }
}
