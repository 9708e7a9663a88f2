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
        while left > 0, let push = waiting.takeFirst(whereFree: hasPlace) {
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
        if places.inFlight == 0 || moment.since(reportedAt) >= Bounds.retryPollInterval {
            reportedAt = moment
            report.log(to: services.shared)
            report = FanOutReport()
        }
        worker?.sent()
    }

    private func hasPlace(_ place: APNsHealth.Place?) -> Bool {
        place.map { places.hasPlace(in: $0, besides: services.slots.taken) } ?? true
    }

    /// Whether it must not be sent, even if a slot is free.
    func isOver(_ waiting: Waiting) -> Bool {
        isExpired(waiting.claimed.push) || isHeldTooLong(waiting)
    }

    private func isExpired(_ push: PendingPush) -> Bool {
        let now = now
        return now >= clock.end(of: push, at: now, moment)
    }

    /// Whether the push was claimed so long ago that another process may claim it while it is being sent.
    private func isHeldTooLong(_ waiting: Waiting) -> Bool {
        moment.since(waiting.heldSince) > Bounds.retryWaitMax
    }

    /// A push's destination, by its registration and the current apps.
    func place(of push: ClaimedPush) -> APNsHealth.Place? {
        guard let device = push.device,
            case .app(let app, _) = services.destination(of: device.bundleID, in: device.environment)
        else { return nil }
        return APNsHealth.Place(key: app.key, environment: Environment(device.environment))
    }

    func begin(_ waiting: Waiting) {
        let now = now
        let pending = waiting.claimed.push
        guard !isHeldTooLong(waiting) else { return giveBack([waiting]) }
        guard !services.shared.blocked.contains(pending.secretHash) else {
            return queue.end(Self.unsent(waiting, FailureReason.blocked, at: now))
        }
        guard let device = waiting.claimed.device else {
            return queue.end(Self.unsent(waiting, FailureReason.deviceRemoved, at: now))
        }
        let held = LeasedPush(pending, to: device, owner: waiting.lease.owner)
        let isExpired = isExpired(pending)
        switch services.destination(of: device.bundleID, in: device.environment) {
        case .none(let reason):
            guard !isExpired, reason != FailureReason.invalidRegistration else {
                return queue.end(held.over(.failed, error: reason, at: now))
            }
            // Another relay, or this one after a reload, may know the app: each reloads its apps file separately.
            postpone(waiting, .server, at: now)
        case .app where isExpired:
            queue.end(held.over(.failed, error: FailureReason.expired, at: now))
        case .app(let app, let topic):
            let step = QueuedPushStep(
                waiting.claimed, to: device, at: now, expiresAt: clock.end(of: pending, at: now, moment),
                zone: services.zone)
            guard case .send(let wanted) = step else { return end(held, step, at: now) }
            guard let token = DeviceToken(device.token), let push = wanted.push(to: token, topic) else {
                return queue.end(held.over(.failed, error: FailureReason.invalidRegistration, at: now))
            }
            let place = APNsHealth.Place(key: app.key, environment: Environment(device.environment))
            let target = APNsHealth.Target(bundleID: device.bundleID, place: place)
            guard !refusedTokens.spares(target, at: moment) else { return postpone(waiting, .token, at: now) }
            places.take(in: place, at: moment)
            refusedTokens.sent(to: target)
            services.counts.retries += 1
            let attempt = services.firstAttempt(to: device, of: app, at: waiting.claimedAt)
            send(Sending(waiting: waiting, push: push, held: held, target: target), attempt)
        }
    }

    /// Ends or postpones a push that isn't to be sent now.
    private func end(_ held: LeasedPush, _ step: QueuedPushStep, at now: EpochMilliseconds) {
        switch step {
        case .send: break
        case .later(let due): queue.end(held.end(.again(dueAt: due, attempts: held.push.attempts)))
        case .over(let reason): queue.end(held.over(.failed, error: reason, at: now))
        }
    }

    private func send(_ sending: Sending, _ attempt: DeliveryAttempt) {
        let isSent = services.send(sending.push, attempt, for: sending) { [self] in decide($0, $1) }
        guard !isSent else { return }
        postpone(sending.waiting, .server, at: now)
        giveBack(sending.target, .ended)
        send()
    }

    private func decide(_ outcome: Outcome, _ made: LoopServices.AttemptContext<Sending>) {
        let sending = made.subject
        let step = OutcomePolicy.step(after: outcome, of: made.attempt)
        report.note(
            outcome, step, made.attempt.environment, made.key, sending.held.device.bundleID)
        if case .sendAgain(let next) = step { return send(sending, next) }
        if case .sent(let environment?) = step { services.store(environment, of: sending.held.device) }
        let random = Double.random(in: 0..<1, using: &services.generator)
        let now = now
        queue.end(
            sending.held.end(
                after: step, queue.options.schedule, at: now,
                expiresAt: clock.end(of: sending.held.push, at: now, moment), random: random))
        giveBack(sending.target, ConcurrencyLimiter.Answer(step))
        send()
    }

    private func giveBack(_ target: APNsHealth.Target, _ answer: ConcurrencyLimiter.Answer) {
        places.giveBack(target.place, answer, at: moment)
        refusedTokens.answered(target, answer, at: moment)
    }

    /// The end of a push that failed without a device; the log row contains what the queue row knows.
    private static func unsent(
        _ waiting: Waiting, _ reason: String, at now: EpochMilliseconds
    ) -> PushQueue.End {
        let push = waiting.claimed.push
        let delivery = Delivery(
            id: push.id, secretHash: push.secretHash, eventType: push.eventType, sessionID: push.sessionID,
            status: .failed, error: reason, createdAt: now, deviceID: push.deviceID)
        return PushQueue.End(
            settlement: Settlement(
                id: push.id, secretHash: push.secretHash, owner: waiting.lease.owner, end: .over(delivery)))
    }
}
