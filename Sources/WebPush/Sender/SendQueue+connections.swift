internal import Delays
internal import Network

extension SendQueue {
    /// A connection, from the decision to open it until it has closed.
    struct Connection {
        enum Phase {
            case connecting
            /// Takes pushes.
            case open
            /// Takes no more pushes, and closes after its last answer.
            case leaving
        }

        let host: String
        var phase = Phase.connecting
        /// How many requests the service takes at a time: one with HTTP/1.1, and before it has said otherwise.
        var serverLimit = 1
        /// Lowered below that after the service refused requests; grows with every answer.
        var limit = 1
        /// Whether the limit isn't known yet.
        var awaitsLimit = true
        /// The number of requests under way.
        var streams = 0
        var hasStarted = false
        /// When the service last said something, or began to owe an answer.
        var heardAt: MonotonicTime
        /// When it last answered a push.
        var answeredAt: MonotonicTime?
        /// Whether PINGs can be sent: HTTP/1.1 has none.
        var hasPing = false
        /// Whether a PING is unanswered; the connection gets no pushes meanwhile.
        var isPinged = false

        init(to host: String, at now: MonotonicTime) {
            self.host = host
            heardAt = now
        }

        var room: Int { phase == .open && !isPinged ? limit - streams : 0 }
        var isIdle: Bool { phase == .open && streams == 0 && !isPinged }

        mutating func heard(at now: MonotonicTime) {
            heardAt = now
            isPinged = false
        }
    }

    /// How a request ended.
    enum End {
        case answered
        /// The service did not process it.
        case refused
        /// It was reset, cancelled, lost with its connection, or not sent.
        case unanswered
    }

    /// What ``check(at:)`` wants done.
    enum Care: Equatable {
        case ping(UInt64)
        case close(UInt64)
    }

    // MARK: Choosing

    /// The connection with the fewest requests that takes another one.
    func roomiest(of name: String) -> UInt64? {
        var best: (number: UInt64, streams: Int)?
        for number in hosts[name]?.connections ?? [] {
            guard let connection = connections[number], connection.room > 0 else { continue }
            if best.map({ connection.streams < $0.streams }) ?? true { best = (number, connection.streams) }
        }
        return best?.number
    }

    /// Whether a host may have one more connection: one at a time, so that a burst shares them, and only its first if
    /// many are in use.
    func mayOpen(to name: String, at now: MonotonicTime) -> Bool {
        guard let host = hosts[name], host.connections.count < settings.connectionsPerHostMax,
            host.connections.isEmpty || connections.count < settings.connectionsMax / 2,
            !host.isRefused(at: now)
        else { return false }
        return host.connections.allSatisfy {
            guard let connection = connections[$0] else { return true }
            return connection.phase == .leaving || !connection.awaitsLimit
        }
    }

    /// The connection that has been idle for the longest time.
    var longestIdle: UInt64? {
        connections.filter { $1.isIdle }.min { $0.value.heardAt < $1.value.heardAt }?.key
    }

    /// Counts a request on a connection.
    mutating func start(on number: UInt64, at now: MonotonicTime) {
        underWay += 1
        // An idle service owes nothing until now.
        if connections[number]?.streams == 0 { connections[number]?.heardAt = now }
        connections[number]?.streams += 1
        connections[number]?.hasStarted = true
    }

    // MARK: Events

    /// A connection was established.
    mutating func opened(_ number: UInt64, isHTTP2: Bool, at now: MonotonicTime) {
        connections[number]?.phase = .open
        connections[number]?.hasPing = isHTTP2
        connections[number]?.awaitsLimit = isHTTP2
        happened(to: number, at: now)
    }

    /// The service changed its limit of concurrent requests.
    mutating func limitChanged(_ number: UInt64, to limit: Int, at now: MonotonicTime) {
        let limit = min(limit, settings.streamsPerConnectionMax)
        connections[number]?.serverLimit = limit
        connections[number]?.limit = limit
        connections[number]?.awaitsLimit = false
        happened(to: number, at: now)
    }

    /// The service answered a PING.
    mutating func ponged(_ number: UInt64, at now: MonotonicTime) {
        happened(to: number, at: now)
    }

    /// A connection takes no more pushes.
    mutating func leave(_ number: UInt64) {
        connections[number]?.phase = .leaving
        if let name = connections[number]?.host { giveTurn(to: name) }
    }

    /// Whether a connection has nothing more to do and should close.
    func isDone(_ number: UInt64) -> Bool {
        connections[number].map { $0.phase == .leaving && $0.streams == 0 } ?? false
    }

    /// A request ended.
    mutating func ended(on number: UInt64, _ end: End, at now: MonotonicTime) {
        underWay -= 1
        guard var connection = connections[number] else { return }
        connection.streams -= 1
        switch end {
        case .answered:
            connection.answeredAt = now
            connection.heard(at: now)
            if connection.limit < connection.serverLimit { connection.limit += 1 }
            hosts[connection.host]?.backOff.reset()
            hosts[connection.host]?.refusal = nil
        case .refused:
            connection.heard(at: now)
            connection.limit = min(connection.serverLimit, max(1, connection.streams))
            // One that allows no streams says when it does again; one that refuses what it allows is of no use.
            if connection.streams == 0, connection.serverLimit > 0 { connection.phase = .leaving }
        case .unanswered: break
        }
        connections[number] = connection
        giveTurn(to: connection.host)
    }

    /// Whether a connection has answered a push since a time.
    func hasAnswered(_ number: UInt64, since time: MonotonicTime) -> Bool {
        connections[number]?.answeredAt.map { $0 > time } ?? false
    }

    /// A connection closed or could not be established; returns the host's waiting pushes if they fail with it.
    ///
    /// - Parameter random: 0 ..< 1, to spread attempts.
    mutating func closed(
        _ number: UInt64, _ cause: Unreachable.Cause, at now: MonotonicTime, random: Double
    ) -> [UInt64] {
        guard let connection = connections[number] else { return [] }
        let name = connection.host
        removeConnection(number)
        // One that closed before it could take a waiting push was useless.
        let isFailure =
            connection.phase == .connecting
            || connection.phase == .open && !connection.hasStarted && hosts[name]?.waiting.isEmpty == false
        let isLast = hosts[name]?.connections.isEmpty ?? true
        if isFailure, let delay = hosts[name]?.backOff.next(random) {
            let failures = hosts[name]?.backOff.failures ?? 0
            if !isLast || failures >= settings.failuresBeforeRefusing {
                hosts[name]?.refusal = (now + delay, cause)
            }
        }
        if isLast, isFailure || hosts[name]?.isRefused(at: now) == true { return removeAll(of: name) }
        giveTurn(to: name)
        return []
    }

    mutating func removeConnection(_ number: UInt64) {
        guard let name = connections.removeValue(forKey: number)?.host else { return }
        hosts[name]?.connections.removeAll { $0 == number }
    }

    /// Looks for connections that are silent or have long been idle.
    mutating func check(at now: MonotonicTime) -> [Care] {
        var wanted: [Care] = []
        for (number, connection) in connections where connection.phase != .connecting {
            let silence = now.since(connection.heardAt)
            let isDead = connection.isPinged && silence >= settings.silenceMax
            if isDead || connection.isIdle && silence >= settings.idleMax {
                leave(number)
                wanted.append(.close(number))
            } else if connection.hasPing, !connection.isPinged, connection.streams > 0,
                silence >= settings.silenceBeforePing
            {
                connections[number]?.isPinged = true
                wanted.append(.ping(number))
            }
        }
        return wanted
    }

    private mutating func happened(to number: UInt64, at now: MonotonicTime) {
        connections[number]?.heard(at: now)
        if let name = connections[number]?.host { giveTurn(to: name) }
    }
}
