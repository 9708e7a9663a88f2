internal import HTTP2
internal import Network

/// Handles connection events and performs the actions that the state requests.
extension Client {
    func perform(_ action: PoolState.Action, at now: MonotonicTime) {
        switch action {
        case .open(let index): open(index, at: now)
        case .ping(let index): connections[index]?.ping()
        case .retire(let index, let reason):
            if reason == .noStreams, let connection = connections[index] {
                connection.hasNoStreams = true
                lastFailure = Failure(.noStreams)
                note(.noStreams)
            }
            connections[index]?.finish()
        case .close(let index, let reason):
            if reason == .silent, let connection = connections[index] {
                connection.isReplacedSilent = true
                note(.silent(unanswered: connection.openStreamCount))
            }
            connections[index]?.close()
        case .failQueued:
            for place in pushes.waiting.all {
                state.unqueue()
                finish(place, .notSent, lastFailure?.cause ?? .connectFailed, lastFailure?.detail ?? "")
            }
        }
    }

    /// Counts and reports the replacement of a connection.
    func note(_ replacement: ConnectionReplacement) {
        counters.connectionsReplaced[replacement.name, default: 0] += 1
        onEvent(.replaced(replacement))
    }

    private func open(_ index: Int, at now: MonotonicTime) {
        while connections.count <= index { connections.append(nil) }
        do {
            let connection = try PoolConnection(index: index, client: self, authority: authority)
            connections[index] = connection
            connection.connect(
                to: endpoint, through: settings.proxy, tls: tls, on: loop, timeout: settings.connectTimeout)
        } catch {
            lastFailure = Failure(.protocolFailure("\(error)"))
            state.closed(index, at: now, jitter: random())
        }
    }

    func opened(_ connection: PoolConnection) {
        let now = loop.now
        counters.connectionsOpened += 1
        onEvent(.connected(connection.addressText))
        state.opened(connection.index, at: now)
        resume(at: now)
    }

    func limitChanged(_ connection: PoolConnection, to limit: Int) {
        let now = loop.now
        state.limitChanged(connection.index, to: limit, at: now)
        resume(at: now)
    }

    func ponged(_ connection: PoolConnection) {
        let now = loop.now
        state.ponged(connection.index, at: now)
        resume(at: now)
    }

    func wentAway(_ connection: PoolConnection, _ goAway: GoAway) {
        let now = loop.now
        let reason = Reason(body: goAway.debugData)
        counters.goAways[reason?.rawValue ?? goAway.code.description, default: 0] += 1
        onEvent(.goAway(goAway.code, reason: reason))
        state.retire(connection.index, at: now, jitter: random())
        resume(at: now)
    }

    func closed(_ connection: PoolConnection, end: ConnectionEnd) {
        let now = loop.now
        if !connection.isOpen { counters.connectionsFailed += 1 }
        if !connection.hasAnswered, !connection.hasNoStreams { lastFailure = Failure(end) }
        onEvent(.closed(end, unanswered: connection.lostCount))
        connections[connection.index] = nil
        state.closed(connection.index, at: now, jitter: random())
        resume(at: now)
    }

    // MARK: Streams

    func answered(_ connection: PoolConnection, place: Int?, _ response: ClientResponse) {
        let now = loop.now
        if !connection.hasAnswered {
            connection.hasAnswered = true
            lastFailure = nil
        }
        if settings.keepsDate { answerDate = response.fields.string("date") ?? answerDate }
        guard let place, let entry = pushes.remove(place) else {
            // The push has already timed out.
            state.answered(connection.index, PoolState.AnswerKind(response.status, nil), at: now)
            return resume(at: now)
        }
        if response.isPlainAcceptance(of: entry.push) {
            counters.accepted += 1
            state.answered(connection.index, .accepted, at: now)
            entry.completion(.accepted(apnsID: entry.push.id, uniqueID: nil))
            return resume(at: now)
        }
        let outcome = Answer(response).outcome(of: entry.push.id)
        switch outcome {
        case .rejected(let rejection):
            counters.rejected[rejection.name, default: 0] += 1
            let kind = PoolState.AnswerKind(rejection.status, rejection.reason?.documented)
            state.answered(connection.index, kind, at: now)
            heed(rejection.reason?.documented, from: connection, serial: entry.tokenSerial, at: now)
        case .accepted, .unreachable:
            counters.accepted += 1
            state.answered(connection.index, .accepted, at: now)
        }
        entry.completion(outcome)
        resume(at: now)
    }

    func failed(_ connection: PoolConnection, place: Int?, _ failure: StreamFailure) {
        let now = loop.now
        let isRefusal = failure == .notProcessed(.refusedStream)
        state.ended(connection.index, isRefusal ? .refused : .broken, at: now, jitter: random())
        if let place {
            switch failure {
            case .notProcessed(let code):
                // The connection closed before it accepted the push.
                if code == .cancel { state.retire(connection.index, at: now, jitter: random()) }
                move(place, at: now)
            case .reset(let code): finish(place, .unknown, .streamReset, code.description)
            case .connectionLost:
                state.retire(connection.index, at: now, jitter: random())
                connection.lostCount += 1
                finish(place, .unknown, .connectionClosed, connection.isReplacedSilent ? "silent" : "")
            }
        }
        resume(at: now)
    }

    // MARK: Refusals that concern a connection

    private func heed(
        _ reason: Reason.Documented?, from connection: PoolConnection, serial: UInt64, at now: MonotonicTime
    ) {
        switch reason {
        case .expiredProviderToken, .invalidProviderToken:
            // After the first refusal, APNs refuses everything on this connection, even with a new token.
            connection.refusedSerial = serial
            guard token(serial: serial).map({ tokens.refused($0, at: tokenTime()) }) ?? true else { return }
            forgetToken()
            replaceConnections(at: now) { $0.refusedSerial.map { $0 <= serial } ?? false }
        case .tooManyProviderTokenUpdates:
            tokens.tooManyUpdates(at: tokenTime())
        case .shutdown, .unrelatedKeyIdInToken:
            // `unrelatedKeyIdInToken` shouldn't occur with one key; if it does, Apple requires a new connection.
            state.retire(connection.index, at: now, jitter: random())
        default: break
        }
    }

    /// Replaces the connections that can't use the new token.
    func tokenChanged(to token: ProviderToken, at now: MonotonicTime) {
        replaceConnections(at: now) { connection in
            let old = token.needsNewConnections ? connection.tokenSerial : connection.refusedSerial
            return old.map { $0 < token.serial } ?? false
        }
    }

    private func replaceConnections(at now: MonotonicTime, where isUseless: (PoolConnection) -> Bool) {
        for case let connection? in connections
        where state.connections[connection.index]?.phase == .open && isUseless(connection) {
            note(.newToken)
            state.retire(connection.index, at: now, jitter: 0, isFailure: false)
        }
    }
}

extension PoolState.AnswerKind {
    init(_ status: Int, _ reason: Reason.Documented?) {
        switch status {
        case 200: self = .accepted
        case 400, 404, 405, 410, 413: self = .rejected
        case 429 where reason == .tooManyRequests: self = .rejected
        default: self = .unproven
        }
    }
}

extension ClientResponse {
    /// Whether the push was accepted with nothing else to report: the common case, in which no strings are made.
    fileprivate func isPlainAcceptance(of push: Push) -> Bool {
        guard status == 200, fields.count <= 1 else { return false }
        return fields.isEmpty || fields.contains("apns-id", push.id)
    }
}

extension Answer {
    fileprivate init(_ response: ClientResponse) {
        self.init(
            status: response.status, apnsID: response.fields.string("apns-id"),
            uniqueID: response.fields.string("apns-unique-id"),
            retryAfter: response.fields.string("retry-after"),
            body: response.body)
    }
}

extension Client {
    /// Why pushes could not reach APNs.
    struct Failure {
        let cause: Unreachable.Cause
        let detail: String

        init(_ cause: Unreachable.Cause) {
            self.cause = cause
            detail = ""
        }

        init(_ end: ConnectionEnd) {
            cause = end.cause
            detail = end.description
        }
    }
}

extension ConnectionEnd {
    /// The cause to report for pushes when a connection ends this way.
    var cause: Unreachable.Cause {
        switch self {
        case .notHTTP2: .http2NotOffered
        case .protocolFailure: .protocolError
        case .channel(.unresolved): .nameNotResolved
        case .channel(.connectFailed), .channel(.proxy), .channel(.notPublic): .connectFailed
        case .channel(.connectTimeout): .connectTimeout
        case .channel(.tls): .tlsFailed
        case .channel(.local), .channel(.peer), .channel(.failed), .channel(.flushTimeout): .connectionClosed
        }
    }
}
