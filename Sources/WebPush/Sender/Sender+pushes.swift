internal import HTTP2
internal import Network

/// Starts pushes and reports their outcomes.
extension Sender {
    func pumpSoon() {
        guard !isPumping, queue.mayGoOn else { return }
        isPumping = true
        loop.atNextTurn { [weak self] in
            guard let self else { return }
            isPumping = false
            pump()
        }
    }

    private func pump() {
        let now = loop.now
        for _ in 0..<Self.startsPerTurn {
            switch queue.next(at: now) {
            case .start(let push, let connection): start(push, on: connection, at: now)
            case .open(let connection, let push, let idle):
                if let idle { connections[idle]?.close() }
                open(connection, for: push, at: now)
            case nil: return
            }
        }
        pumpSoon()
    }

    private func start(_ number: UInt64, on connection: UInt64, at now: MonotonicTime) {
        guard let push = entries[number]?.push else { return }
        let endpoint = push.subscription.endpoint
        guard hosts.permission(for: endpoint) != nil,
            let body = try? MessageEncryption.encrypt(push.message.payload, for: push.subscription.keys),
            let authorization = try? tokens.authorization(
                for: endpoint.origin, key: push.key, at: epochSeconds())
        else {
            queue.ended(on: connection, .unanswered, at: now)
            return settle(number, .notSent, .notEncrypted)
        }
        let fields = RequestHeaders.fields(
            for: push.message.handling, to: endpoint, authorization: authorization, bodyBytes: body.count)
        do throws(HTTP2Error) {
            guard let wire = connections[connection] else { throw .noNewStreams }
            let slot = try wire.send(fields, body, for: number)
            entries[number]?.request = (connection, slot, now)
        } catch {
            queue.ended(on: connection, .refused, at: now)
            switch error {
            case .streamLimit: move(number)
            case .noNewStreams:
                queue.leave(connection)
                move(number)
            case .outOfMemory, .sessionFailed, .invalidHeader: settle(number, .notSent, .protocolError)
            }
            if queue.isDone(connection) { connections[connection]?.finish() }
        }
    }

    /// Requeues a push that the service did not process.
    private func move(_ number: UInt64) {
        guard let entry = entries[number] else { return }
        guard entry.moves < settings.movesMax else { return settle(number, .notSent, .connectionClosed) }
        entries[number]?.moves += 1
        entries[number]?.request = nil
        queue.wait(number, host: entry.push.subscription.endpoint.authority, bytes: entry.push.bytes)
    }

    // MARK: Outcomes

    func refuse(_ completion: (Outcome) -> Void, _ cause: Unreachable.Cause) {
        let outcome = Outcome.unreachable(Unreachable(processed: .notSent, cause: cause))
        counters.count(outcome)
        completion(outcome)
    }

    private func settle(_ number: UInt64, _ outcome: Outcome) {
        guard let entry = entries.removeValue(forKey: number) else { return }
        counters.count(outcome)
        entry.completion(outcome)
    }

    func settle(
        _ number: UInt64, _ processed: Unreachable.Processed, _ cause: Unreachable.Cause
    ) {
        settle(number, .unreachable(Unreachable(processed: processed, cause: cause)))
    }

    func settle(_ number: UInt64, _ response: ClientResponse) {
        guard let host = entries[number]?.push.subscription.endpoint.host else { return }
        let retryAfter = response.fields.string("retry-after")
        let answer = Answer(
            status: response.status, service: PushService(host: host),
            retryAfter: retryAfter.flatMap { RetryAfter.seconds($0, at: epochSeconds()) },
            body: response.body)
        settle(number, answer.outcome)
    }

    func settle(_ number: UInt64, _ failure: StreamFailure) {
        switch failure {
        case .notProcessed: move(number)
        case .reset: settle(number, .unknown, .protocolError)
        case .connectionLost: settle(number, .unknown, .connectionClosed)
        }
    }

    /// Fails the pushes that have timed out, whether queued or under way.
    func expirePushes() {
        let now = loop.now
        while let number = deadlines.first {
            if let entry = entries[number] {
                guard entry.deadline <= now else { break }
                if let request = entry.request {
                    timedOut(number, request.connection, request.slot, sentAt: request.at)
                } else if queue.remove(number) {
                    settle(number, .notSent, .timeout)
                }
            }
            _ = deadlines.popFirst()
        }
        if let number = deadlines.first, let entry = entries[number] {
            deadlineTimer?.schedule(after: max(.milliseconds(1), entry.deadline.since(now)))
        }
        stopIfDone()
    }

    private func timedOut(
        _ number: UInt64, _ connection: UInt64, _ slot: StreamSlot, sentAt: MonotonicTime
    ) {
        if let response = connections[connection]?.cancel(slot) { return settle(number, response) }
        // A connection that answers no pushes is abandoned, even if it answers PINGs.
        if !queue.hasAnswered(connection, since: sentAt) { connections[connection]?.close() }
        settle(number, .unknown, .timeout)
    }

    func stopIfDone() {
        guard isStopping, entries.isEmpty, !onStopped.isEmpty else { return }
        for connection in connections.values { connection.close() }
        guard connections.isEmpty else { return }
        stopTimer = nil
        let waiting = onStopped
        onStopped = []
        for resume in waiting { resume() }
    }

    /// Fails all pushes at the stop deadline.
    func cutOff() {
        for (number, entry) in entries {
            if let request = entry.request {
                _ = connections[request.connection]?.cancel(request.slot)
            } else {
                _ = queue.remove(number)
            }
            settle(number, entry.request == nil ? .notSent : .unknown, .shuttingDown)
        }
        stopIfDone()
    }
}
