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
    }

    private let services: LoopServices
    private let budget: RetryBudget
    private var timer: Timer?
    private var waiting: [Waiting] = []
    private var inFlight = 0
    private var isClaiming = false
    private var isSending = false
    /// When the timer fires; `.max` when it isn't set.
    private var looksAt: EpochMilliseconds = .max
    /// The last claim got all it asked for, or it was time to look while there was no room or a claim was under way.
    private var mayHaveMore = false
    private var countedAt: EpochMilliseconds = 0
    private var failures = 0
    private var report = FanOutReport()
    private var isStopping = false
    private var stopTimer: Timer?
    private var onStopped: CheckedContinuation<Void, Never>?

    /// A worker on the loop of its services; it does nothing before ``start()``.
    init(on services: LoopServices, budget: RetryBudget = RetryBudget()) {
        self.services = services
        self.budget = budget
    }

    private var queue: PushQueue { services.shared.queue }
    private var now: EpochMilliseconds { services.shared.clock.now }

    // MARK: Life

    /// Looks for due pushes now, and then as they become due.
    func start() {
        timer = Timer(on: services.loop) { [unowned self] in look() }
        let loop = services.loop
        let worker = LoopBound(self, on: loop)
        queue.onEarlierPush { due in loop.submit { worker.value.look(at: due) } }
        look()
    }

    /// Claims no more, gives back what was not sent, and waits until the deadline for what is in flight.
    func stop(within deadline: Duration) async {
        isStopping = true
        queue.onEarlierPush(nil)
        timer = nil
        giveBack(waiting)
        waiting = []
        guard inFlight > 0 || isClaiming else { return }
        await withCheckedContinuation { continuation in
            onStopped = continuation
            stopTimer = Timer(on: services.loop) { [unowned self] in stopped() }
            stopTimer?.schedule(after: deadline)
        }
    }

    private func stopped() {
        stopTimer?.cancel()
        onStopped?.resume()
        onStopped = nil
    }

    private func stoppedIfIdle() {
        if isStopping, inFlight == 0, !isClaiming { stopped() }
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
        let room = budget.room(held: waiting.count + inFlight)
        guard !isStopping else { return }
        guard !isClaiming, room > 0 else {
            // Goes on when the claim or pushes have ended.
            mayHaveMore = true
            return
        }
        isClaiming = true
        mayHaveMore = false
        let shared = services.shared
        let claimedAt = now
        let lease = queue.lease(owner: services.makeID(), at: claimedAt)
        nonisolated(unsafe) let worker = self  // why: confined to the loop that runs the task
        services.loop.spawn { _ in
            do throws(StorageError) {
                let claimed = try await shared.storage.claimPushes(
                    dueAt: claimedAt, lease: lease, limit: room)
                let next = try await shared.storage.nextPushDue()
                if worker.isTimeToCount(at: claimedAt) {
                    let limit = shared.queue.options.totalMax
                    shared.queue.noteWaiting(
                        next == nil ? 0 : try await shared.storage.countPushes(limit: limit))
                }
                worker.took(claimed, lease, claimedAt, next: next, isAll: claimed.count < room)
            } catch {
                worker.failed(error)
            }
        }
    }

    private func took(
        _ claimed: [ClaimedPush], _ lease: PushLease, _ claimedAt: EpochMilliseconds,
        next: EpochMilliseconds?, isAll: Bool
    ) {
        isClaiming = false
        failures = 0
        queue.noteOldestDue(next)
        let taken = claimed.map { Waiting(claimed: $0, lease: lease, claimedAt: claimedAt) }
        guard !isStopping else {
            giveBack(taken)
            return stoppedIfIdle()
        }
        waiting += taken
        if !isAll { mayHaveMore = true }
        // Several relays shall not look in step.
        let jitter = EpochMilliseconds.random(in: 0..<1000, using: &services.generator)
        let poll = now + Bounds.retryPollInterval.inMilliseconds + jitter
        if !mayHaveMore { look(at: min(next ?? poll, poll)) }
        send()
    }

    /// Whether the count of all that wait is old.
    private func isTimeToCount(at now: EpochMilliseconds) -> Bool {
        guard now >= countedAt + Bounds.retryPollInterval.inMilliseconds else { return false }
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

    // MARK: Sending

    /// Sends as many as there is room for beside new events.
    private func send() {
        // An outcome may come within `send`: then the loop below goes on, rather than one call inside the other.
        guard !isSending else { return }
        isSending = true
        var next = 0
        while next < waiting.count, inFlight < budget.inFlightMax(besides: services.slots.taken) {
            begin(waiting[next])
            next += 1
        }
        waiting.removeFirst(next)
        isSending = false
        if mayHaveMore, !isClaiming, budget.room(held: waiting.count + inFlight) >= budget.claimMin { look() }
        if inFlight == 0 {
            report.log(to: services.shared)
            report = FanOutReport()
        }
        stoppedIfIdle()
    }

    private func begin(_ waiting: Waiting) {
        let now = now
        let pending = waiting.claimed.push
        // Held for too long to be sure that nobody else takes it while it is sent.
        let needed = queue.options.workMax + Bounds.clockSkewMax
        guard now + needed.inMilliseconds <= waiting.lease.until else { return giveBack([waiting]) }
        guard let device = waiting.claimed.device else {
            return queue.end(Self.withoutDevice(waiting, at: now))
        }
        let held = HeldPush(pending, to: device, owner: waiting.lease.owner)
        guard now < pending.expiresAt else {
            return queue.end(held.over(.failed, error: PushQueue.expired, at: now))
        }
        switch services.destination(of: device) {
        case .none(let reason):
            queue.end(held.over(.failed, error: reason, at: now))
        case .app(let app, let token, let topic):
            guard let push = pending.push(to: token, topic) else {
                return queue.end(held.over(.failed, error: FanOut.invalidRegistration, at: now))
            }
            inFlight += 1
            services.counts.retries += 1
            send(push, held, services.firstAttempt(to: device, of: app, at: waiting.claimedAt))
        }
    }

    private func send(_ push: Push, _ held: HeldPush, _ attempt: DeliveryAttempt) {
        let isSent = services.send(push, attempt) { [self] outcome, key in
            decide(outcome, push, held, attempt, key)
        }
        guard !isSent else { return }
        queue.end(held.over(.failed, error: FanOut.unknownBundle, at: now))
        inFlight -= 1
        send()
    }

    private func decide(
        _ outcome: Outcome, _ push: Push, _ held: HeldPush, _ attempt: DeliveryAttempt, _ key: AppKey
    ) {
        let step = OutcomePolicy.step(after: outcome, of: attempt)
        report.note(outcome, step, attempt.environment, key)
        if case .sendAgain(let next) = step { return send(push, held, next) }
        if case .sent(let environment?) = step { services.store(environment, of: held.device) }
        let random = Double.random(in: 0..<1, using: &services.generator)
        queue.end(held.end(after: step, queue.options.schedule, at: now, random: random))
        inFlight -= 1
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

/// How many pushes that were stored may be on their way, so that new events go first.
struct RetryBudget: Hashable, Sendable {
    /// In flight while the loop has nothing else to send.
    var inFlightMax = Bounds.retriesInFlightMax

    /// In flight beside so many pushes of new events: fewer the more those are, and never none.
    func inFlightMax(besides eventPushes: Int) -> Int {
        max(1, inFlightMax - eventPushes)
    }

    /// How many may be claimed while so many are held: enough that sending needn't wait for the database.
    func room(held: Int) -> Int {
        max(0, 2 * inFlightMax - held)
    }

    /// Fewer than these are not claimed while there are others to send.
    var claimMin: Int { max(1, inFlightMax / 2) }
}
