internal import Network

/// Decides which connection gets a push, and when to open, prime, ping, retire and close connections.
///
/// A pure value: events and times in, actions out. It knows how many pushes are queued, but not which ones. Calls
/// identify a connection by its index, which is reused after ``closed(_:at:jitter:)``.
struct PoolState: Sendable {
    /// An action for the owner; actions are performed in order.
    enum Action: Hashable, Sendable {
        /// Start connecting.
        case open(Int)
        /// Send a PING.
        case ping(Int)
        /// Send GOAWAY; close after the last response.
        case retire(Int, RetireReason = .other)
        /// Close immediately; its unanswered pushes fail.
        case close(Int, CloseReason)
        /// Connecting keeps failing: fail all queued pushes.
        case failQueued
    }

    enum RetireReason: Hashable, Sendable {
        /// Pushes are queued, and the server allowed no streams for ``ClientSettings/noStreamsMax``.
        case noStreams
        /// Any other reason: the owner or the server requested it, or the server isn't answering.
        case other
    }

    enum CloseReason: Hashable, Sendable {
        /// Responses are outstanding and the server is silent.
        case silent
        /// The connection was retired and its last responses did not arrive in time.
        case undrained
        /// The connection is no longer needed.
        case unneeded
    }

    /// Where to put a new push.
    enum Placement: Hashable, Sendable {
        /// On this connection, now.
        case connection(Int)
        /// In the queue, until ``next(at:)`` returns a connection.
        case queue
        /// The queue is full.
        case queueFull
        /// Connecting keeps failing, and the next attempt is not due yet.
        case unreachable
    }

    /// What a response says about its connection.
    enum AnswerKind: Hashable, Sendable {
        /// Status 200.
        case accepted
        /// The push was refused for a reason that shows that the provider token was accepted.
        case rejected
        /// The provider token was refused, or the server could not check it.
        case unproven
    }

    /// How a stream without a response ended.
    enum StreamEnd: Hashable, Sendable {
        /// Refused by the server without processing.
        case refused
        /// Reset, cancelled or lost with its connection.
        case broken
    }

    enum Phase: Hashable, Sendable {
        case connecting
        /// Accepts pushes.
        case open
        /// Accepts no more pushes and waits for responses until the given time.
        case retiring(until: MonotonicTime)
        /// Closing.
        case closing
    }

    struct Connection: Sendable {
        var phase = Phase.connecting
        /// The server's stream limit; one until its SETTINGS arrive.
        var streamLimit = 1
        /// When the server stopped allowing streams; nil while it allows some.
        var noStreamsSince: MonotonicTime?
        /// Whether a response has shown that the server accepts the token, so that several pushes may be in flight.
        var isPrimed = false
        /// Whether a push was refused for a reason that shows that the server knows the token.
        var isTokenKnown = false
        /// The client's own limit: lowered below the server's when streams are refused; grows with every response.
        var softLimit = Int.max
        /// The number of streams in flight.
        var streams = 0
        /// When the connection was established.
        var openedAt: MonotonicTime?
        /// When the server last sent something or began to owe a response.
        var heardAt: MonotonicTime
        /// When the server last answered a push.
        var answeredAt: MonotonicTime?
        /// When connecting began.
        var startedAt: MonotonicTime
        /// Whether a PING is unanswered.
        var isPinged = false
        /// Whether the server owes responses but is silent; it gets no new pushes until it sends something.
        var isSuspect = false
        /// Whether the connection's end needn't be counted, because it already was or isn't a failure.
        var isCounted = false

        init(at now: MonotonicTime) {
            startedAt = now
            heardAt = now
        }
    }

    let settings: ClientSettings
    var connections: [Connection?] = []
    /// The number of queued pushes.
    private(set) var queued = 0
    /// The actions added since the owner last took them.
    var actions: [Action] = []
    /// Consecutive failed or short-lived connections.
    var failures = 0
    /// Consecutive connections that answered no push and were not closed cleanly.
    var unansweredFailures = 0
    /// The earliest time for the next connection attempt.
    var notBefore: MonotonicTime?
    /// Whether new pushes are refused and connections serve only the remaining ones.
    var isStopping = false
    /// Whether ``nextTick`` may have become earlier: a server now owes a response, or a connection attempt has to wait.
    var hasNewDuty = false
    /// When a failure was last counted.
    var lastFailureAt: MonotonicTime?

    init(_ settings: ClientSettings) {
        self.settings = settings
    }

    /// Whether the owner has nothing to do: no actions, no queued pushes, no earlier tick, not stopping.
    var isQuiet: Bool { queued == 0 && actions.isEmpty && !hasNewDuty && !isStopping }

    var hasActions: Bool { !actions.isEmpty }

    /// Whether ``nextTick`` may have become earlier since the last call.
    mutating func takeNewDuty() -> Bool {
        defer { hasNewDuty = false }
        return hasNewDuty
    }

    /// Removes and returns the actions.
    mutating func takeActions() -> [Action] {
        guard !actions.isEmpty else { return [] }
        defer { actions.removeAll(keepingCapacity: true) }
        return actions
    }

    // MARK: Pushes

    /// Decides where to put a new push.
    mutating func arrive(at now: MonotonicTime) -> Placement {
        if queued == 0, let index = roomiest() {
            start(on: index, at: now)
            return .connection(index)
        }
        guard queued < settings.queuedPushesMax else { return .queueFull }
        if isRefusing(at: now) { return .unreachable }
        queued += 1
        considerOpening(at: now)
        return .queue
    }

    /// The connection for the longest-queued push, if any has room; counts the push as sent.
    ///
    /// Otherwise, adds an action that opens a connection, if one may be opened.
    mutating func next(at now: MonotonicTime) -> Int? {
        guard queued > 0 else { return nil }
        guard let index = roomiest() else {
            considerOpening(at: now)
            return nil
        }
        queued -= 1
        start(on: index, at: now)
        return index
    }

    /// Returns a push from a connection to the queue.
    mutating func requeue(at now: MonotonicTime) {
        queued += 1
        considerOpening(at: now)
    }

    /// Removes a push from the queue without sending it.
    mutating func unqueue() {
        queued -= 1
    }

    private mutating func start(on index: Int, at now: MonotonicTime) {
        if connections[index]?.started(at: now) == true { hasNewDuty = true }
    }

    /// The index of an idle unprimed connection, or else of the primed one with the fewest pushes.
    func roomiest() -> Int? {
        var best: Int?
        var fewest = Int.max
        for index in connections.indices {
            guard let connection = connections[index], room(of: connection) > 0 else { continue }
            if !connection.isPrimed { return index }
            if connection.streams < fewest {
                best = index
                fewest = connection.streams
            }
        }
        return best
    }

    private func room(of connection: Connection) -> Int {
        guard connection.phase == .open, !connection.isSuspect else { return 0 }
        let most = connection.isPrimed ? min(connection.softLimit, settings.streamsPerConnectionMax) : 1
        return min(most, connection.streamLimit) - connection.streams
    }
}
