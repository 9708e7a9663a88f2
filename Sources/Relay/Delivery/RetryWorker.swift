import APNs
import Network
import Storage

/// Sends the pushes that wait: claims those that are due, sends them beside new events, and has their ends written.
///
/// Confined to its loop, and one for a process: several processes share the queue by claiming from it. New events
/// go first (``RetryBudget``). What it holds when it is stopped is given back at once; what a dead process held comes
/// back when the leases run out.
final class RetryWorker {
    /// A claimed push that has not been sent yet.
    private struct Waiting {
        let claimed: ClaimedPush
        let lease: PushLease
        /// Before its device was read.
        let claimedAt: EpochMilliseconds
        /// Since when it has been held.
        let heldSince: MonotonicTime
        /// Where it goes; `nil` where it needs no place because it can't be sent.
        let place: APNsHealth.Place?
    }

    /// A push in flight.
    private struct Sending {
        let waiting: Waiting
        let push: Push
        let held: HeldPush
        /// The place that it took.
        let place: APNsHealth.Place
    }

    private let services: LoopServices
    private let budget: RetryBudget
    private var timer: Timer?
    private var waiting = RetryLines<APNsHealth.Place?, Waiting>()
    private var places: RetryPlaces
    /// How far claims look.
    private(set) var pace: ClaimPace
    private var isClaiming = false
    private var isSending = false
    /// When the timer fires; `.max` when it isn't set.
    private var looksAt: EpochMilliseconds = .max
    /// The last claim got all it asked for, or it was time to look while there was no room or a claim was under way.
    private var mayHaveMore = false
    private var countedAt: MonotonicTime?
    private let clock: QueueClock
    private var failures = 0
    private var report = FanOutReport()
    private var reportedAt = MonotonicTime(nanoseconds: 0)
    private var isStopping = false
    private var stopTimer: Timer?
    private var onStopped: CheckedContinuation<Void, Never>?

    /// A worker on the loop of its services; it does nothing before ``start()``.
    init(on services: LoopServices, budget: RetryBudget = RetryBudget(), pace: ClaimPace = ClaimPace()) {
        self.services = services
        self.budget = budget
        self.pace = pace
        places = RetryPlaces(budget)
        clock = QueueClock(services.shared.queue)
    }

    private var queue: PushQueue { services.shared.queue }
    private var now: EpochMilliseconds { services.shared.clock.now }
    private var moment: MonotonicTime { services.shared.monotonic() }
    private var room: Int {
        budget.room(
            places: claimWidth, held: waiting.count + places.inFlight, unwritten: queue.unwrittenEnds)
    }

    /// For how many places it claims.
    private var claimWidth: Int { max(places.width, min(Bounds.retriesClaimedMin, budget.inFlightMax)) }

    // MARK: Life

    /// Looks for due pushes now, and then as they become due.
    func start() {
        timer = Timer(on: services.loop) { [unowned self] in look() }
        let loop = services.loop
        let worker = LoopBound(self, on: loop)
        queue.onEarlierPush { due in loop.submit { worker.value.look(at: due) } }
        queue.onEndsWritten { loop.submit { worker.value.send() } }
        look()
    }

    /// Claims no more, gives back what was not sent, and waits until the deadline for what is in flight.
    func stop(within deadline: Duration) async {
        isStopping = true
        queue.onEarlierPush(nil)
        queue.onEndsWritten(nil)
        timer = nil
        giveBack(waiting.takeAll())
        await withCheckedContinuation { continuation in
            onStopped = continuation
            stopTimer = Timer(on: services.loop) { [unowned self] in stopped() }
            stopTimer?.schedule(after: deadline)
            // Looked at here: before, the wait may give other work of the loop its turn, which may be the end.
            stoppedIfIdle()
        }
    }

    private func stopped() {
        stopTimer?.cancel()
        onStopped?.resume()
        onStopped = nil
    }

    private func stoppedIfIdle() {
        if isStopping, places.inFlight == 0, !isClaiming { stopped() }
    }

    // MARK: Claiming

    /// Looks at a time, if that is earlier than it would already.
    private func look(at due: EpochMilliseconds) {
        guard !isStopping, due < looksAt else { return }
        looksAt = due
        queue.workerLooks(at: due)
        timer?.schedule(after: max(.milliseconds(max(0, due - now)), Bounds.retryLookPause))
    }

    private func look() {
        looksAt = .max
        queue.workerLooks(at: .max)
        guard !isStopping else { return }
        let (claimedAt, heldSince) = (now, moment)
        clock.look(at: claimedAt, heldSince)
        postponeStalled()
        endWhatIsOver()
        let room = room
        guard !isClaiming, room > 0 else {
            // Goes on when the claim or pushes have ended.
            mayHaveMore = true
            return watch()
        }
        isClaiming = true
        mayHaveMore = false
        let shared = services.shared
        let began = services.loop.now
        let scope = pace.scope(at: began)
        let lease = queue.lease(owner: services.makeID(), at: claimedAt)
        nonisolated(unsafe) let worker = self  // why: confined to the loop that runs the task
        services.loop.spawn { _ in
            do throws(StorageError) {
                try await worker.clock.prepareClaim(at: claimedAt, heldSince)
                let claimed = try await shared.storage.claimPushes(
                    dueAt: claimedAt, lease: lease, limit: room, scope: scope)
                worker.pace.claimed(scope, from: began, to: worker.services.loop.now)
                let isAll = claimed.count < room
                // They are held now, whatever the questions that follow come to.
                worker.took(claimed, lease, claimedAt, heldSince, isAll: isAll)
                // Where there are more, those that were just claimed waited longest.
                let next =
                    isAll ? try await shared.storage.nextPushDue() : claimed.map(\.push.dueAt).min()
                if worker.isTimeToCount(at: heldSince) {
                    let limit = shared.queue.options.totalMax
                    shared.queue.noteWaiting(
                        next == nil ? 0 : try await shared.storage.countPushes(limit: limit))
                }
                worker.looked(next: next)
            } catch {
                worker.failed(error)
            }
        }
    }

    private func took(
        _ claimed: [ClaimedPush], _ lease: PushLease, _ claimedAt: EpochMilliseconds,
        _ heldSince: MonotonicTime, isAll: Bool
    ) {
        let taken = claimed.map { push in
            Waiting(
                claimed: push, lease: lease, claimedAt: claimedAt, heldSince: heldSince,
                place: place(of: push))
        }
        guard !isStopping else { return giveBack(taken) }
        for push in taken { waiting.append(push, for: push.place) }
        if !isAll { mayHaveMore = true }
        postponeStalled()
        send()
    }

    private func looked(next: EpochMilliseconds?) {
        isClaiming = false
        failures = 0
        queue.noteOldestDue(next)
        // Several relays shall not look in step.
        let jitter = EpochMilliseconds.random(in: 0..<1000, using: &services.generator)
        let poll = now + Bounds.retryPollInterval.inMilliseconds + jitter
        if !mayHaveMore { look(at: min(next ?? poll, poll)) }
        watch()
        send()
    }

    /// Looks again soon where what waits has no place, so that those for a destination that is silent make room.
    private func watch() {
        if !waiting.isEmpty { look(at: now + Bounds.retryStallTime.inMilliseconds) }
    }

    /// Whether the count of all that wait is old.
    private func isTimeToCount(at now: MonotonicTime) -> Bool {
        if let countedAt, now.since(countedAt) < Bounds.retryPollInterval { return false }
        countedAt = now
        return true
    }

    private func failed(_ error: StorageError) {
        isClaiming = false
        failures += 1
        services.shared.log(.warning, "queue.unreadable", [.storageError(error)])
        let delay = min(
            Bounds.retryPollInterval, Bounds.settlementsRetryDelayMin * (1 << min(failures - 1, 10)))
        look(at: now + delay.inMilliseconds)
        stoppedIfIdle()
    }

    private func giveBack(_ pushes: [Waiting]) {
        for push in pushes {
            let claimed = push.claimed.push
            queue.end(
                PushQueue.End(
                    settlement: Settlement(
                        id: claimed.id, secretHash: claimed.secretHash, owner: push.lease.owner,
                        end: .again(dueAt: claimed.dueAt, attempts: claimed.attempts))))
        }
    }

    /// Has those wait longer whose destination doesn't answer and has all the places it may have, or refuses the token.
    ///
    /// As if they had been sent and not answered; what may be held is for others meanwhile.
    private func postponeStalled() {
        guard !waiting.isEmpty else { return }
        let stalled = places.stalled(besides: services.slots.taken, at: moment)
        guard !stalled.isEmpty else { return }
        let now = now
        for (place, trouble) in stalled {
            for push in waiting.takeAll(where: { waitsFor, _ in waitsFor == place }) {
                postpone(push, trouble, at: now)
            }
        }
    }

    /// Ends or gives back those that wait for a place and whose time, or whose lease, is over.
    private func endWhatIsOver() {
        for push in waiting.takeAll(where: { isOver($1) }) { begin(push) }
    }

    /// Has a push that was not sent wait for its next attempt.
    private func postpone(
        _ waiting: Waiting, _ trouble: OutcomePolicy.RetryLater.Trouble, at now: EpochMilliseconds
    ) {
        let push = waiting.claimed.push
        let due = queue.options.schedule.due(
            after: OutcomePolicy.RetryLater(reason: "", trouble: trouble), attempts: push.attempts + 1,
            at: now, expiresAt: push.expiresAt, random: .random(in: 0..<1, using: &services.generator))
        queue.end(
            PushQueue.End(
                settlement: Settlement(
                    id: push.id, secretHash: push.secretHash, owner: waiting.lease.owner,
                    end: .again(dueAt: due, attempts: push.attempts + 1))))
    }

    // MARK: Sending

    /// Sends as many as there are places for beside new events.
    private func send() {
        // An outcome may come within `begin`: then the loop below goes on, rather than one call inside the other.
        guard !isSending else { return }
        isSending = true
        while let push = waiting.takeFirst(whereFree: hasPlace) { begin(push) }
        isSending = false
        if mayHaveMore, !isClaiming, room >= budget.claimMin(places: claimWidth) { look() }
        let moment = moment
        if places.inFlight == 0 || moment.since(reportedAt) >= Bounds.retryPollInterval {
            reportedAt = moment
            report.log(to: services.shared)
            report = FanOutReport()
        }
        stoppedIfIdle()
    }

    private func hasPlace(_ place: APNsHealth.Place?) -> Bool {
        place.map { places.hasPlace(in: $0, besides: services.slots.taken, at: moment) } ?? true
    }

    /// Whether it isn't sent, whatever place there is.
    private func isOver(_ waiting: Waiting) -> Bool {
        now >= waiting.claimed.push.expiresAt || isHeldTooLong(waiting)
    }

    /// Held for too long to be sure that nobody else takes it while it is sent.
    private func isHeldTooLong(_ waiting: Waiting) -> Bool {
        moment.since(waiting.heldSince) > Bounds.retryWaitMax
    }

    /// Where a push goes, by its registration and the apps as they are now.
    private func place(of push: ClaimedPush) -> APNsHealth.Place? {
        guard let device = push.device,
            case .app(let app, _) = services.destination(of: device.bundleID, in: device.environment)
        else { return nil }
        return APNsHealth.Place(key: app.key, environment: Environment(device.environment))
    }

    private func begin(_ waiting: Waiting) {
        let now = now
        let pending = waiting.claimed.push
        guard !isHeldTooLong(waiting) else { return giveBack([waiting]) }
        guard let device = waiting.claimed.device else {
            return queue.end(Self.withoutDevice(waiting, at: now))
        }
        let held = HeldPush(pending, to: device, owner: waiting.lease.owner)
        let isExpired = now >= pending.expiresAt
        switch services.destination(of: device.bundleID, in: device.environment) {
        case .none(let reason):
            guard !isExpired, reason != FanOut.invalidRegistration else {
                return queue.end(held.over(.failed, error: reason, at: now))
            }
            // Another relay, or this one in a moment, may know the app: each reads the apps file when it is told to.
            postpone(waiting, .server, at: now)
        case .app where isExpired:
            queue.end(held.over(.failed, error: PushQueue.expired, at: now))
        case .app(let app, let topic):
            guard let token = DeviceToken(device.token), let push = pending.push(to: token, topic) else {
                return queue.end(held.over(.failed, error: FanOut.invalidRegistration, at: now))
            }
            let place = APNsHealth.Place(key: app.key, environment: Environment(device.environment))
            places.take(in: place, at: moment)
            services.counts.retries += 1
            let attempt = services.firstAttempt(to: device, of: app, at: waiting.claimedAt)
            send(Sending(waiting: waiting, push: push, held: held, place: place), attempt)
        }
    }

    private func send(_ sending: Sending, _ attempt: DeliveryAttempt) {
        let isSent = services.send(sending.push, attempt, for: sending) { [self] in decide($0, $1) }
        guard !isSent else { return }
        postpone(sending.waiting, .server, at: now)
        places.giveBack(sending.place, .ended, at: moment)
        send()
    }

    private func decide(_ outcome: Outcome, _ made: LoopServices.AttemptMade<Sending>) {
        let sending = made.subject
        let step = OutcomePolicy.step(after: outcome, of: made.attempt)
        report.note(
            outcome, step, made.attempt.environment, made.key, sending.held.device.bundleID)
        if case .sendAgain(let next) = step { return send(sending, next) }
        if case .sent(let environment?) = step { services.store(environment, of: sending.held.device) }
        let random = Double.random(in: 0..<1, using: &services.generator)
        queue.end(sending.held.end(after: step, queue.options.schedule, at: now, random: random))
        places.giveBack(sending.place, RetryPlaces.Answer(step), at: moment)
        send()
    }

    /// The end of a push whose device is gone; the log row has what the push's row knows.
    private static func withoutDevice(_ waiting: Waiting, at now: EpochMilliseconds) -> PushQueue.End {
        let push = waiting.claimed.push
        let delivery = Delivery(
            id: push.id, secretHash: push.secretHash, eventType: push.eventType, sessionID: push.sessionID,
            status: .failed, error: PushQueue.deviceRemoved, createdAt: now, deviceID: push.deviceID)
        return PushQueue.End(
            settlement: Settlement(
                id: push.id, secretHash: push.secretHash, owner: waiting.lease.owner, end: .over(delivery)))
    }
}
