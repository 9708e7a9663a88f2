import APNs
import Delays
import Network
import Storage

/// Sends queued pushes: claims those that are due, sends them alongside new events, and ends their leases.
///
/// Confined to its loop, one per process; several processes share the queue by claiming from it. New events go
/// first (``RetryBudget``). When stopped, it returns unsent pushes immediately; pushes of a dead process become
/// available when their leases expire.
final class RetryWorker {
    /// A claimed push that has not been sent yet.
    struct Waiting {
        let claimed: ClaimedPush
        let lease: PushLease
        /// A time before its device was read.
        let claimedAt: EpochMilliseconds
        /// When it was claimed.
        let heldSince: MonotonicTime
        /// Its destination; `nil` if it can't be sent and needs no slot.
        let place: APNsHealth.Place?
    }

    /// A push in flight.
    struct Sending {
        let waiting: Waiting
        let push: Push
        let held: LeasedPush
        /// The target whose slot it uses.
        let target: APNsHealth.Target
    }

    let services: LoopServices
    let budget: RetryBudget
    private var timer: Timer?
    var waiting = FairQueue<APNsHealth.Place?, Waiting>()
    var places: ConcurrencyLimiter
    var refusedTokens = RefusedTokens()
    /// The scope of claims.
    private(set) var pace: ClaimPace
    var isClaiming = false
    var isSending = false
    /// Whether the rest of a long batch waits for `pauseTimer`.
    var isPausing = false
    private(set) var pauseTimer: Timer?
    /// When the timer fires; `.max` if it isn't set.
    private var looksAt: EpochMilliseconds = .max
    /// Whether more pushes were due after the last claim, or a check was due while there was no room or a claim was
    /// running.
    var mayHaveMore = false
    /// When the queue's size is out of date.
    private var measuresAt = MonotonicTime(nanoseconds: 0)
    let clock: QueueClock
    private var backOff = BackOff(from: Bounds.endsBackOff.least, to: Bounds.retryPollInterval)
    var report = FanOutReport()
    var reportedAt = MonotonicTime(nanoseconds: 0)
    private var isStopping = false
    private var stopTimer: Timer?
    private var onStopped: CheckedContinuation<Void, Never>?

    /// A worker on its services' loop; idle until ``start()``.
    init(on services: LoopServices, budget: RetryBudget = RetryBudget(), pace: ClaimPace = ClaimPace()) {
        self.services = services
        self.budget = budget
        self.pace = pace
        places = ConcurrencyLimiter(budget)
        clock = QueueClock(services.shared.queue)
    }

    var queue: PushQueue { services.shared.queue }
    var now: EpochMilliseconds { services.shared.clock.now }
    var moment: MonotonicTime { services.shared.monotonic() }
    var room: Int {
        budget.room(
            places: claimWidth, held: waiting.count + places.inFlight, unwritten: queue.unwrittenEnds)
    }

    /// How many slots it claims for.
    var claimWidth: Int { max(places.width, min(Bounds.retriesClaimedMin, budget.inFlightMax)) }

    // MARK: Lifecycle

    /// Claims due pushes now, and others as they become due.
    func start() {
        timer = Timer(on: services.loop) { [unowned self] in look() }
        pauseTimer = Timer(on: services.loop) { [unowned self] in
            isPausing = false
            send()
        }
        let loop = services.loop
        let worker = LoopBound(self, on: loop)
        queue.onEarlierPush { due in loop.submit { worker.value.look(at: due) } }
        queue.onEndsWritten { loop.submit { worker.value.send() } }
        look()
    }

    /// Stops claiming, returns unsent pushes, and waits until the deadline for pushes in flight.
    func stop(within deadline: Duration) async {
        isStopping = true
        queue.onEarlierPush(nil)
        queue.onEndsWritten(nil)
        timer = nil
        pauseTimer = nil
        isPausing = false
        giveBack(waiting.takeAll())
        await withCheckedContinuation { continuation in
            onStopped = continuation
            stopTimer = Timer(on: services.loop) { [unowned self] in stopped() }
            stopTimer?.schedule(after: deadline)
            // Checked here because other work on the loop may finish the last push before the wait starts.
            stoppedIfIdle()
        }
    }

    private func stopped() {
        stopTimer?.cancel()
        onStopped?.resume()
        onStopped = nil
    }

    func stoppedIfIdle() {
        if isStopping, places.inFlight == 0, !isClaiming { stopped() }
    }

    // MARK: Claiming

    /// Schedules a check, unless an earlier one is scheduled.
    private func look(at due: EpochMilliseconds) {
        guard !isStopping, due < looksAt else { return }
        looksAt = due
        queue.workerLooks(at: due)
        timer?.schedule(after: max(.milliseconds(max(0, due - now)), Bounds.retryLookPause))
    }

    /// Claims due pushes now and schedules the next check.
    func look() {
        looksAt = .max
        queue.workerLooks(at: .max)
        guard !isStopping else { return }
        let (claimedAt, heldSince) = (now, moment)
        clock.look(at: claimedAt, heldSince)
        postponeStalled()
        endWhatIsOver()
        let limit = min(room, Bounds.retriesPerClaimMax)
        guard !isClaiming, limit > 0 else {
            // Continues when the claim or pushes have ended.
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
                    dueAt: claimedAt, lease: lease, limit: limit, scope: scope)
                worker.pace.claimed(scope, from: began, to: worker.services.loop.now)
                let isAll = claimed.count < limit
                // They are leased now, even if the following calls fail.
                worker.took(claimed, lease, claimedAt, heldSince, isAll: isAll)
                // If there are more, the ones just claimed waited longest.
                let next =
                    isAll ? try await shared.storage.nextPushDue() : claimed.map(\.push.dueAt).min()
                try await worker.measureIfDue(isEmpty: next == nil)
                // A claim searches only some parts of the queue.
                if !claimed.isEmpty, let next, next <= claimedAt { worker.mayHaveMore = true }
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
        // A push whose end couldn't be written is claimed again after its lease expired.
        let open = claimed.filter { !queue.isOver($0.push, owner: lease.owner) }
        let taken = open.map { push in
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
        backOff.reset()
        queue.noteOldestDue(next)
        // Keeps relays from polling in step.
        let jitter = EpochMilliseconds.random(in: 0..<1000, using: &services.generator)
        let poll = now + Bounds.retryPollInterval.inMilliseconds + jitter
        if !mayHaveMore { look(at: min(next ?? poll, poll)) }
        watch()
        send()
    }

    /// Checks again soon if waiting pushes have no slot, so that pushes for a silent destination make room.
    private func watch() {
        if !waiting.isEmpty { look(at: now + Bounds.retryStallTime.inMilliseconds) }
    }

    /// Measures the queue if the last measurement was long ago; a long queue, which takes long to read, is measured
    /// less often.
    private func measureIfDue(isEmpty: Bool) async throws(StorageError) {
        let began = services.loop.now
        guard began >= measuresAt else { return }
        measuresAt = began + Bounds.retryPollInterval
        guard !isEmpty else { return queue.noteWaiting(QueueSize()) }
        queue.noteWaiting(try await services.shared.storage.measurePushes(limit: queue.options.totalMax))
        let now = services.loop.now
        measuresAt = max(measuresAt, now + now.since(began) * Bounds.queueMeasureRest)
    }

    private func failed(_ error: StorageError) {
        isClaiming = false
        services.shared.log(.warning, "queue.unreadable", [.storageError(error)])
        look(at: now + backOff.next().inMilliseconds)
        stoppedIfIdle()
    }

    func giveBack(_ pushes: [Waiting]) {
        for push in pushes {
            let claimed = push.claimed.push
            queue.end(
                PushQueue.End(
                    settlement: Settlement(
                        id: claimed.id, secretHash: claimed.secretHash, owner: push.lease.owner,
                        end: .again(dueAt: claimed.dueAt, attempts: claimed.attempts))))
        }
    }

    /// Postpones pushes whose destination doesn't answer and uses all its slots.
    ///
    /// They are treated as sent and unanswered, which frees the claim for others.
    private func postponeStalled() {
        guard !waiting.isEmpty else { return }
        let silent = places.silent(besides: services.slots.taken, at: moment)
        guard !silent.isEmpty else { return }
        let now = now
        let stalled = waiting.takeAll { place, _ in place.map { silent.contains($0) } ?? false }
        for push in stalled { postpone(push, .unreachable, at: now) }
    }

    /// Ends or returns waiting pushes whose time or lease is over.
    private func endWhatIsOver() {
        for push in waiting.takeAll(where: { isOver($1) }) { begin(push) }
    }

    /// Postpones an unsent push to its next attempt.
    func postpone(
        _ waiting: Waiting, _ cause: OutcomePolicy.RetryLater.Cause, at now: EpochMilliseconds
    ) {
        let push = waiting.claimed.push
        let due = queue.options.schedule.due(
            after: OutcomePolicy.RetryLater(reason: "", cause: cause), attempts: push.attempts + 1,
            at: now, expiresAt: clock.end(of: push, at: now, moment),
            random: .random(in: 0..<1, using: &services.generator))
        queue.end(
            PushQueue.End(
                settlement: Settlement(
                    id: push.id, secretHash: push.secretHash, owner: waiting.lease.owner,
                    end: .again(dueAt: due, attempts: push.attempts + 1))))
    }
}
