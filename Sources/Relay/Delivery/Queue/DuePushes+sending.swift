import APNs
import Network
import Storage

/// Sends claimed pushes as slots become free, and ends them with their outcomes.
extension DuePushes {
    /// Sends as many pushes as there are slots not used by new events.
    ///
    /// A long batch is sent in parts with pauses, so that new events wait neither for the whole batch nor for all of
    /// its outcomes, which would arrive together one round trip later and start the next batch.
    func send() {
        // An outcome may arrive within `begin`; the loop below then continues instead of recursing.
        guard !isSending, !isPausing else { return }
        isSending = true
        var left = Bounds.retriesAtOnceMax
        while left > 0, let push = waiting.takeFirst(whereFree: hasSlot) {
            begin(push)
            left -= 1
        }
        isSending = false
        if left == 0 {
            isPausing = true
            pauseTimer?.schedule(after: Bounds.retriesPause)
            return
        }
        let moment = moment
        if destinations.inFlight == 0 || moment.since(reportedAt) >= Bounds.retryPollInterval {
            reportedAt = moment
            attempts.logReport()
        }
        worker?.sent()
    }

    private func hasSlot(_ destination: PushDestination?) -> Bool {
        destination.map { destinations.hasSlot(in: $0, besides: services.slots.taken) } ?? true
    }

    /// Whether a waiting push must not be sent, even if a slot is free.
    func isOver(_ waiting: Waiting) -> Bool {
        isExpired(waiting.claimed.push) || hasWaitedTooLong(waiting)
    }

    private func isExpired(_ push: PendingPush) -> Bool {
        let now = now
        return now >= clock.end(of: push, at: now, moment)
    }

    /// Whether the push was claimed so long ago that another process may claim it while it is being sent.
    private func hasWaitedTooLong(_ waiting: Waiting) -> Bool {
        moment.since(waiting.claimedMoment) > Bounds.retryWaitMax
    }

    /// A push's destination, according to its registration and the current apps.
    func destination(of push: ClaimedPush) -> PushDestination? {
        guard let device = push.device, case .found(let route, _) = services.route(to: device, at: now) else {
            return nil
        }
        return route.destination(device.bundleID, services.apps)
    }

    func begin(_ waiting: Waiting) {
        let now = now
        let leased = waiting.leased
        let pending = leased.push
        guard !hasWaitedTooLong(waiting) else { return giveBack([waiting]) }
        guard !services.shared.blocked.contains(pending.secretHash) else {
            return queue.end(leased.over(.failed, error: FailureReason.blocked, at: now))
        }
        guard let device = leased.device else {
            return queue.end(leased.over(.failed, error: FailureReason.deviceRemoved, at: now))
        }
        let isExpired = isExpired(pending)
        switch services.route(to: device, at: waiting.claimedAt) {
        case .none(let reason):
            guard !isExpired, reason != FailureReason.invalidRegistration else {
                return queue.end(leased.over(.failed, error: reason, at: now))
            }
            finish(leased, .unknownApp, at: now)
        case .found where isExpired:
            queue.end(leased.over(.failed, error: FailureReason.expired, at: now))
        case .found(let route, let topic):
            let step = QueuedPushStep(
                waiting.claimed, to: device, at: now, expiresAt: clock.end(of: pending, at: now, moment),
                zone: services.zone)
            guard case .send(let wanted) = step else { return end(leased, step, at: now) }
            guard let token = DeviceToken(device.token), let push = wanted.push(to: token, topic),
                let destination = route.destination(device.bundleID, services.apps)
            else {
                return queue.end(leased.over(.failed, error: FailureReason.invalidRegistration, at: now))
            }
            var target: APNsHealth.Target?
            if case .apns(let place) = destination {
                target = APNsHealth.Target(bundleID: device.bundleID, destination: place)
            }
            if let target {
                guard !refusedTokens.spares(target, at: moment) else {
                    return postpone(waiting, .token, at: now)
                }
                refusedTokens.sent(to: target)
            }
            destinations.take(in: destination, at: moment)
            services.counts.retries += 1
            let recorder = services.shared.tracer?.recorder(ofPush: pending.id)
            let sending = Sending(
                leased: leased, destination: destination, target: target,
                spans: recorder.map { PushSpans($0, attempts: pending.attempts) })
            attempts.send(push, route, for: sending, spans: sending.spans) { [self] in ended($1, $0) }
        }
    }

    /// Ends or postpones a push that must not be sent now.
    private func end(_ leased: LeasedPush, _ step: QueuedPushStep, at now: EpochMilliseconds) {
        switch step {
        case .send: break
        case .later(let due): queue.end(leased.end(.again(dueAt: due, attempts: leased.push.attempts)))
        case .over(let reason): queue.end(leased.over(.failed, error: reason, at: now))
        }
    }

    private func ended(_ sending: Sending, _ end: PushEnd) {
        finish(sending.leased, end, at: now)
        sending.spans?.recorder.retried(sending.leased.push, end)
        let answer = ConcurrencyLimiter.Answer(end)
        destinations.giveBack(sending.destination, answer, at: moment)
        waiting.free(sending.destination)
        if let target = sending.target { refusedTokens.answered(target, answer, at: moment) }
        send()
    }
}
