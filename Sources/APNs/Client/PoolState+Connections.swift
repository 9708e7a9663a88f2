internal import Delays
internal import Network

extension PoolState {
    /// A connection was established; it gets one push at a time until a response shows that the token is accepted.
    mutating func opened(_ index: Int, at now: MonotonicTime) {
        guard connections[index]?.phase == .connecting else { return }
        connections[index]?.phase = .open
        connections[index]?.openedAt = now
        connections[index]?.heardAt = now
    }

    /// The server changed its stream limit, possibly to fewer streams than are open.
    mutating func limitChanged(_ index: Int, to limit: Int, at now: MonotonicTime) {
        let since = connections[index]?.noStreamsSince ?? now
        connections[index]?.streamLimit = limit
        connections[index]?.noStreamsSince = limit > 0 ? nil : since
        connections[index]?.considerPrimed()
        heard(index, at: now)
        if limit == 0, queued > 0 { hasNewDuty = true }
    }

    /// A push on a connection was answered.
    mutating func answered(_ index: Int, _ kind: AnswerKind, at now: MonotonicTime) {
        connections[index]?.answered(kind, at: now)
    }

    /// A stream ended without a response.
    mutating func ended(_ index: Int, _ end: StreamEnd, at now: MonotonicTime, jitter: Double) {
        connections[index]?.streams -= 1
        guard end == .refused, let connection = connections[index], connection.phase == .open else { return }
        heard(index, at: now)
        connections[index]?.softLimit = max(1, connection.streams)
        let answeredAt = connection.answeredAt ?? connection.openedAt ?? now
        if now.since(answeredAt) >= settings.silenceMax { retire(index, at: now, jitter: jitter) }
    }

    /// The server answered a PING.
    mutating func ponged(_ index: Int, at now: MonotonicTime) {
        connections[index]?.isPinged = false
        heard(index, at: now)
    }

    /// A push on this connection timed out; `sentAt` is when it was sent.
    ///
    /// Retires the connection if it has answered nothing since then, even if it answers PINGs.
    mutating func timedOut(_ index: Int, sentAt: MonotonicTime, at now: MonotonicTime, jitter: Double) {
        guard let connection = connections[index] else { return }
        if let answeredAt = connection.answeredAt, answeredAt >= sentAt { return }
        retire(index, at: now, jitter: jitter)
    }

    /// Retires a connection: it gets no more pushes.
    ///
    /// - Parameter isFailure: False if the client chose to retire it, which must not slow down reconnecting.
    mutating func retire(
        _ index: Int, at now: MonotonicTime, jitter: Double, isFailure: Bool = true,
        _ reason: RetireReason = .other
    ) {
        guard connections[index]?.phase == .open else { return }
        connections[index]?.phase = .retiring(until: now + settings.drainTimeout)
        if isFailure { count(index, at: now, jitter: jitter) }
        connections[index]?.isCounted = true
        actions.append(.retire(index, reason))
        considerOpening(at: now)
    }

    /// Retires all open connections and closes those still connecting.
    mutating func retireAll(at now: MonotonicTime) {
        for index in connections.indices {
            if connections[index]?.phase == .connecting {
                close(index, .unneeded)
            } else {
                retire(index, at: now, jitter: 0, isFailure: false)
            }
        }
    }

    /// A connection closed or could not be established; frees its index.
    mutating func closed(_ index: Int, at now: MonotonicTime, jitter: Double) {
        count(index, at: now, jitter: jitter)
        connections[index] = nil
        if isRefusing(at: now), queued > 0 { actions.append(.failQueued) }
        considerOpening(at: now)
    }

    /// Performs the actions that are due; call it at ``nextTick``.
    mutating func tick(at now: MonotonicTime, jitter: Double) {
        for index in connections.indices {
            guard let connection = connections[index] else { continue }
            switch connection.phase {
            case .connecting, .closing: continue
            case .retiring(let until) where now >= until: close(index, .undrained)
            case .open, .retiring:
                if now.since(connection.heardAt) >= settings.silenceMax, connection.owesWord {
                    count(index, at: now, jitter: jitter)
                    close(index, .silent)
                } else if let due = replacementTime(of: connection), now >= due {
                    retire(index, at: now, jitter: jitter, .noStreams)
                } else if !connection.isPinged, now >= pingTime(of: connection) {
                    ping(index, at: now)
                }
            }
        }
        considerOpening(at: now)
    }

    /// When the next action is due if nothing happens before then.
    var nextTick: MonotonicTime? {
        var earliest: MonotonicTime?
        func consider(_ time: MonotonicTime) {
            earliest = min(earliest ?? time, time)
        }
        for connection in connections {
            guard let connection else { continue }
            switch connection.phase {
            case .connecting, .closing: continue
            case .retiring(let until): consider(until)
            case .open: break
            }
            if connection.owesWord { consider(connection.heardAt + settings.silenceMax) }
            if let due = replacementTime(of: connection) { consider(due) }
            if !connection.isPinged { consider(pingTime(of: connection)) }
        }
        if queued > 0, let notBefore { consider(notBefore) }
        return earliest
    }

    /// When a connection that allows no streams may be replaced: no earlier than a new one may be opened.
    private func replacementTime(of connection: Connection) -> MonotonicTime? {
        guard queued > 0, connection.phase == .open, let since = connection.noStreamsSince else { return nil }
        let due = since + settings.noStreamsMax
        return notBefore.map { max($0, due) } ?? due
    }

    private func pingTime(of connection: Connection) -> MonotonicTime {
        connection.heardAt + (connection.streams > 0 ? settings.silenceBeforePing : settings.idleBeforePing)
    }

    private mutating func ping(_ index: Int, at now: MonotonicTime) {
        connections[index]?.isPinged = true
        if connections[index]?.streams == 0 {
            // An idle server owed no response until now.
            connections[index]?.heardAt = now
        } else {
            connections[index]?.isSuspect = true
        }
        actions.append(.ping(index))
    }

    private mutating func heard(_ index: Int, at now: MonotonicTime) {
        connections[index]?.heardAt = now
        connections[index]?.isSuspect = false
    }

    private mutating func close(_ index: Int, _ reason: CloseReason) {
        guard connections[index] != nil, connections[index]?.phase != .closing else { return }
        connections[index]?.phase = .closing
        actions.append(.close(index, reason))
    }

    /// Opens a connection if there are queued pushes that no other connection can take soon.
    ///
    /// Opens one at a time: the next has to wait while a connection is being established, is waiting for its first
    /// response, or is new and allows no streams yet. If a server allows no streams at all, connections are opened one
    /// after another.
    mutating func considerOpening(at now: MonotonicTime) {
        guard queued > 0, roomiest() == nil else { return }
        if connections.contains(where: { $0?.noStreamsSince != nil }) { hasNewDuty = true }
        if let notBefore, now < notBefore {
            hasNewDuty = true
            return
        }
        var live = 0
        for case let connection? in connections {
            switch connection.phase {
            case .connecting: return
            case .open where !connection.isPrimed && !connection.isSuspect: return
            case .open: live += 1
            case .retiring, .closing: break
            }
        }
        guard live < settings.connectionsMax else { return }
        let index = connections.firstIndex { $0 == nil } ?? connections.count
        if index == connections.count { connections.append(nil) }
        connections[index] = Connection(at: now)
        actions.append(.open(index))
    }

    /// Whether new pushes fail immediately because connecting keeps failing.
    func isRefusing(at now: MonotonicTime) -> Bool {
        guard unansweredFailures >= settings.failuresBeforeRefusing, let notBefore, now < notBefore else {
            return false
        }
        return !connections.contains { $0?.phase == .open || $0?.phase == .connecting }
    }

    /// Counts the end of a connection as a failure unless the connection lasted long enough.
    ///
    /// Connections that end together count as one failure. A connection that has answered pushes may be replaced
    /// immediately, but not twice in a row.
    private mutating func count(_ index: Int, at now: MonotonicTime, jitter: Double) {
        guard let connection = connections[index], !connection.isCounted else { return }
        connections[index]?.isCounted = true
        // A connection that never had a stream was useless, whatever its age.
        let wasUseless = connection.noStreamsSince != nil && connection.answeredAt == nil
        if !wasUseless, let openedAt = connection.openedAt, now.since(openedAt) >= settings.settledAge {
            failures = 0
            unansweredFailures = 0
            notBefore = nil
            return
        }
        if let lastFailureAt, connection.startedAt < lastFailureAt { return }
        lastFailureAt = now
        failures += 1
        // A server that answers or closes cleanly is reachable: its pushes wait for the next attempt.
        if connection.answeredAt != nil {
            unansweredFailures = 0
        } else if case .retiring = connection.phase, !wasUseless {
        } else {
            unansweredFailures += 1
        }
        let counted = failures - (connection.answeredAt == nil ? 0 : 1)
        guard counted > 0 else { return }
        let full = BackOff(from: settings.backoffBase, to: settings.backoffMax).delay(after: counted)
        notBefore = now + full / 2 + full / 2 * jitter
    }
}

extension PoolState.Connection {
    /// Whether the server owes a response or a PING acknowledgement.
    var owesWord: Bool { streams > 0 || isPinged }

    /// Counts a push sent on the connection; returns whether it is the only one in flight.
    mutating func started(at now: MonotonicTime) -> Bool {
        streams += 1
        guard streams == 1 else { return false }
        heardAt = now
        return true
    }

    /// Records a response, whose kind shows whether the token was accepted.
    mutating func answered(_ kind: PoolState.AnswerKind, at now: MonotonicTime) {
        streams -= 1
        heardAt = now
        isSuspect = false
        answeredAt = now
        if softLimit != .max { softLimit += 1 }
        switch kind {
        case .accepted: isPrimed = true
        case .rejected:
            isTokenKnown = true
            considerPrimed()
        case .unproven: break
        }
    }

    /// Marks the connection as primed if the server knows the token and allows more than one stream.
    mutating func considerPrimed() {
        if isTokenKnown && streamLimit > 1 { isPrimed = true }
    }
}
