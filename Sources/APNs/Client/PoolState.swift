internal import Network

/// Decides which connection takes a push, and when connections are opened, primed, asked, retired and closed.
///
/// A pure value: it is told what happened and when, and says what to do. It knows how many pushes wait, not which.
/// Calls for a connection name it by its index, which is used again after ``closed(_:at:jitter:)``.
struct PoolState: Sendable {
    /// What the owner has to do, in order.
    enum Action: Hashable, Sendable {
        /// Begin to connect.
        case open(Int)
        /// Send a PING.
        case ping(Int)
        /// Send GOAWAY; close when the last answer is there.
        case retire(Int, RetireReason = .other)
        /// Close at once; what is unanswered on it fails.
        case close(Int, CloseReason)
        /// Connecting keeps failing: every push that waits fails.
        case failQueued
    }

    enum RetireReason: Hashable, Sendable {
        /// Pushes wait, and the server has allowed no streams for ``ClientSettings/noStreamsMax``.
        case noStreams
        /// Whatever else: the owner or the server asked for it, or the server answers nothing.
        case other
    }

    enum CloseReason: Hashable, Sendable {
        /// The server owes answers and says nothing.
        case silent
        /// It was retired and its last answers did not come in time.
        case undrained
        /// It is not needed any more.
        case unneeded
    }

    /// Where a new push goes.
    enum Placement: Hashable, Sendable {
        /// Onto this connection, now.
        case connection(Int)
        /// It waits; ``next()`` says when it goes.
        case queue
        /// Too many wait already.
        case queueFull
        /// Connecting keeps failing, and the next attempt isn't due.
        case unreachable
    }

    /// What an answer says of its connection.
    enum AnswerKind: Hashable, Sendable {
        /// Status 200.
        case accepted
        /// A refusal of the push that shows that the provider token was taken.
        case rejected
        /// A refusal of the provider token, or a server that could not decide.
        case unproven
    }

    /// What became of a stream that got no answer.
    enum StreamEnd: Hashable, Sendable {
        /// The server refused it, having done nothing for it.
        case refused
        /// Reset, cancelled, or gone with its connection.
        case broken
    }

    enum Phase: Hashable, Sendable {
        case connecting
        /// It takes pushes.
        case open
        /// It takes no more pushes and waits for answers, until the moment given.
        case retiring(until: MonotonicTime)
        /// It is told to close.
        case closing
    }

    struct Connection: Sendable {
        var phase = Phase.connecting
        /// What SETTINGS allow; one before they have come.
        var streamLimit = 1
        /// Since when SETTINGS have allowed no streams; nil while they allow some.
        var noStreamsSince: MonotonicTime?
        /// Whether a push has shown that the server takes our token, so that more than one may be under way.
        var isPrimed = false
        /// Whether a push was refused for a reason that shows that the server knows our token.
        var isTokenKnown = false
        /// Below the server's limit after it refused streams; grows with every answer.
        var softLimit = Int.max
        /// Streams under way.
        var streams = 0
        /// When it stood.
        var openedAt: MonotonicTime?
        /// When the server said something last, or began to owe something.
        var heardAt: MonotonicTime
        /// When the server answered a push last.
        var answeredAt: MonotonicTime?
        /// When connecting began.
        var startedAt: MonotonicTime
        /// A PING is under way.
        var isPinged = false
        /// It owes answers and is silent: no new pushes until it says something.
        var isSuspect = false
        /// Its end has been counted, or is no failure.
        var isCounted = false

        init(at now: MonotonicTime) {
            startedAt = now
            heardAt = now
        }
    }

    let settings: ClientSettings
    var connections: [Connection?] = []
    /// How many pushes wait.
    private(set) var queued = 0
    /// What is to be done since the owner looked last.
    var actions: [Action] = []
    /// Failed or short-lived connections in a row.
    var failures = 0
    /// Connections in a row that answered no push and were not sent away in order either.
    var unansweredFailures = 0
    /// No attempt to connect before this moment.
    var notBefore: MonotonicTime?
    /// Whether new pushes are refused and connections are only kept for those that are there.
    var isStopping = false
    /// Whether ``nextTick`` may have come nearer: a connection owes answers now, or an attempt has to wait.
    var hasNewDuty = false
    /// When a failure was counted last.
    var lastFailureAt: MonotonicTime?

    init(_ settings: ClientSettings) {
        self.settings = settings
    }

    /// Whether the owner has nothing to do: no action, no push that waits, no nearer tick, no end.
    var isQuiet: Bool { queued == 0 && actions.isEmpty && !hasNewDuty && !isStopping }

    /// Whether something is to be done.
    var hasActions: Bool { !actions.isEmpty }

    /// Whether ``nextTick`` has come nearer since the last look.
    mutating func takeNewDuty() -> Bool {
        defer { hasNewDuty = false }
        return hasNewDuty
    }

    /// Takes the actions out.
    mutating func takeActions() -> [Action] {
        guard !actions.isEmpty else { return [] }
        defer { actions.removeAll(keepingCapacity: true) }
        return actions
    }

    // MARK: Pushes

    /// A push came.
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

    /// The connection that takes the push which waits longest, if one has room; the push counts as sent.
    ///
    /// If none has and one may be opened, there is an action to do so.
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

    /// A push that was on a connection waits again.
    mutating func requeue(at now: MonotonicTime) {
        queued += 1
        considerOpening(at: now)
    }

    /// A push that waited is given up.
    mutating func unqueue() {
        queued -= 1
    }

    private mutating func start(on index: Int, at now: MonotonicTime) {
        if connections[index]?.started(at: now) == true { hasNewDuty = true }
    }

    /// An unprimed connection without a push first, then the primed one with the fewest pushes.
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
