internal import Delays
internal import Network

extension SendQueue {
    /// A connection, from the decision to open it until it has closed.
    struct Connection {
        enum Phase {
            case connecting
            /// Accepts pushes.
            case open
            /// Accepts no more pushes, and closes after its last response.
            case leaving
        }

        let host: String
        var phase = Phase.connecting
        /// How many requests the service accepts at a time: one with HTTP/1.1 or until it announces a limit.
        var serverLimit = 1
        /// The sender's own limit: drops below `serverLimit` when requests are refused; grows with every response.
        var limit = 1
        /// Whether the service has yet to announce its limit.
        var awaitsLimit = true
        /// The number of requests under way.
        var streams = 0
        var hasStarted = false
        /// When the service last sent something or began to owe a response.
        var heardAt: MonotonicTime
        /// When the service last answered a push.
        var answeredAt: MonotonicTime?
        /// Whether PINGs can be sent: HTTP/1.1 has none.
        var hasPing = false
        /// When the unanswered PING was sent; the connection gets no pushes until it is answered.
        var pingedAt: MonotonicTime?
        /// Whether the service refused a request.
        var hasRefused = false

        init(to host: String, at now: MonotonicTime) {
            self.host = host
            heardAt = now
        }

        var room: Int { phase == .open && pingedAt == nil ? limit - streams : 0 }
        var isIdle: Bool { phase == .open && streams == 0 && pingedAt == nil }

        mutating func heard(at now: MonotonicTime) {
            heardAt = now
            pingedAt = nil
        }
    }

    /// How a request ended.
    enum End {
        case answered
        /// The service did not process the request.
        case refused
        /// The request was reset, cancelled, lost with its connection, or not sent.
        case unanswered
    }

    /// An action that ``check(at:)`` requests.
    enum Care: Equatable {
        case ping(UInt64)
        case close(UInt64)
    }

    // MARK: Choosing

    /// Of a host's connections that have room, the one with the fewest requests.
    func roomiest(of name: String) -> UInt64? {
        var best: (number: UInt64, streams: Int)?
        for number in hosts[name]?.connections ?? [] {
            guard let connection = connections[number], connection.room > 0 else { continue }
            if best.map({ connection.streams < $0.streams }) ?? true { best = (number, connection.streams) }
        }
        return best?.number
    }

    /// Whether a host may have another connection.
    ///
    /// Only one is opened at a time, so that a burst of pushes shares it. If many connections are in use, a host may
    /// have only one that accepts pushes.
    func mayOpen(to name: String, at now: MonotonicTime) -> Bool {
        guard let host = hosts[name], host.connections.count < settings.connectionsPerHostMax,
            !host.isRefused(at: now)
        else { return false }
        let own = host.connections.compactMap { connections[$0] }
        let isCrowded = connections.count >= settings.connectionsMax / 2
        return own.allSatisfy { connection in
            switch connection.phase {
            case .leaving: true
            case .connecting: false
            case .open: !connection.awaitsLimit && (!isCrowded || connection.pingedAt != nil)
            }
        }
    }

    /// The connection that has been idle the longest.
    ///
    /// Ignores connections that are about to get the push for which they were opened: otherwise, hosts could keep
    /// taking new connections from one another forever.
    var longestIdle: UInt64? {
        connections.filter { $1.isIdle && !awaitsFirstPush($1) }.min { $0.value.heardAt < $1.value.heardAt }?
            .key
    }

    private func awaitsFirstPush(_ connection: Connection) -> Bool {
        !connection.hasStarted && connection.room > 0 && hosts[connection.host]?.waiting.isEmpty == false
    }

    /// Counts a request on a connection.
    mutating func start(on number: UInt64, at now: MonotonicTime) {
        underWay += 1
        // An idle service owed no response until now.
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

    /// The service changed its limit on concurrent requests.
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

    /// A connection accepts no more pushes.
    mutating func leave(_ number: UInt64) {
        connections[number]?.phase = .leaving
        if let name = connections[number]?.host { giveTurn(to: name) }
    }

    /// Whether a connection has nothing more to do and should close.
    func isDone(_ number: UInt64) -> Bool {
        connections[number].map { $0.phase == .leaving && $0.streams == 0 } ?? false
    }

    /// A request on a connection ended.
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
            connection.hasRefused = true
            connection.limit = min(connection.serverLimit, max(1, connection.streams))
            // A service that allows no streams announces when it allows them again; one that refuses requests within
            // its limit is useless.
            if connection.streams == 0, connection.serverLimit > 0 { connection.phase = .leaving }
        case .unanswered: break
        }
        connections[number] = connection
        giveTurn(to: connection.host)
    }

    /// Whether a connection has answered a push since a given time.
    func hasAnswered(_ number: UInt64, since time: MonotonicTime) -> Bool {
        connections[number]?.answeredAt.map { $0 > time } ?? false
    }

    /// A connection closed or could not be established; returns the host's waiting pushes if they fail too.
    ///
    /// - Parameter random: A number in 0 ..< 1, to spread out attempts.
    mutating func closed(
        _ number: UInt64, _ cause: Unreachable.Cause, at now: MonotonicTime, random: Double
    ) -> [UInt64] {
        guard let connection = connections[number] else { return [] }
        let name = connection.host
        removeConnection(number)
        // A connection that closed before it accepted a waiting push was useless.
        let isUseless =
            connection.phase == .connecting
            || !connection.hasStarted && hosts[name]?.waiting.isEmpty == false
        // A connection that only refused pushes also failed, but the next one may accept them.
        let isFailure = isUseless || connection.hasRefused && connection.answeredAt == nil
        let isLast = hosts[name]?.connections.allSatisfy { connections[$0]?.phase == .leaving } ?? true
        if isFailure, let delay = hosts[name]?.backOff.next(random) {
            let failures = hosts[name]?.backOff.failures ?? 0
            if isUseless && !isLast || failures >= settings.failuresBeforeRefusing {
                hosts[name]?.refusal = (now + delay, cause)
            }
        }
        if isLast, isUseless || hosts[name]?.isRefused(at: now) == true { return removeAll(of: name) }
        giveTurn(to: name)
        return []
    }

    mutating func removeConnection(_ number: UInt64) {
        guard let name = connections.removeValue(forKey: number)?.host else { return }
        hosts[name]?.connections.removeAll { $0 == number }
    }

    /// Finds connections that are silent or have been idle for too long, and hosts that may be connected to again.
    mutating func check(at now: MonotonicTime) -> [Care] {
        var wanted: [Care] = []
        for (name, host) in hosts where host.refusal != nil && !host.isRefused(at: now) { giveTurn(to: name) }
        for (number, connection) in connections where connection.phase != .connecting {
            let silence = now.since(connection.heardAt)
            // Measured from the PING, so that a late check doesn't shorten the time allowed for an answer.
            let isDead =
                connection.pingedAt.map { now.since($0) >= settings.silenceMax - settings.silenceBeforePing }
                ?? false
            let isUnused = connection.isIdle && silence >= settings.idleMax && !awaitsFirstPush(connection)
            if isDead || isUnused {
                leave(number)
                wanted.append(.close(number))
            } else if connection.hasPing, connection.pingedAt == nil, connection.streams > 0,
                silence >= settings.silenceBeforePing
            {
                connections[number]?.pingedAt = now
                // Meanwhile, another connection may take over the host's pushes.
                giveTurn(to: connection.host)
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
