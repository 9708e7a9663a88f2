import APNs
import Network
import Programs
import Storage

/// Sends due pushes from the queue and ends their leases; the pushes of new events go first (``RetryBudget``).
///
/// Pushes that wait too long for a slot, or whose destination is silent, are given back or postponed.
final class DuePushes: DueWork {
    /// A claimed push that has not been sent yet.
    struct Waiting {
        let claimed: ClaimedPush
        let leased: LeasedPush
        /// A time before the push's device was read.
        let claimedAt: EpochMilliseconds
        /// When the push was claimed.
        let claimedMoment: MonotonicTime
        /// The push's destination; `nil` if the push can't be sent and needs no slot.
        let destination: PushDestination?
    }

    /// A push in flight.
    struct Sending {
        let leased: LeasedPush
        /// The destination whose slot the push uses.
        let destination: PushDestination
        /// The app and its destination, for ``RefusedTokens``; `nil` for Web Push.
        let target: APNsHealth.Target?
        /// Records the attempt, if the push is traced.
        let spans: PushSpans?
    }

    let services: LoopServices
    let budget: RetryBudget
    weak var worker: DueWorker?
    var waiting = FairQueue<PushDestination?, Waiting>()
    var destinations: ConcurrencyLimiter
    var refusedTokens = RefusedTokens()
    /// Decides the scope of each claim.
    private(set) var pace: ClaimPace
    var isSending = false
    /// Whether the rest of a long batch waits for `pauseTimer`.
    var isPausing = false
    private(set) var pauseTimer: Timer?
    /// When to measure the queue's size again.
    private var measuresAt = MonotonicTime(nanoseconds: 0)
    let clock: QueueClock
    let attempts: AttemptRunner
    var reportedAt = MonotonicTime(nanoseconds: 0)

    /// Creates the sender for the services' queue; nothing is sent before ``begin(for:)``.
    init(on services: LoopServices, budget: RetryBudget = RetryBudget(), pace: ClaimPace = ClaimPace()) {
        self.services = services
        self.budget = budget
        self.pace = pace
        destinations = ConcurrencyLimiter(budget)
        clock = QueueClock(services.shared.queue)
        attempts = AttemptRunner(on: services)
    }

    var queue: PushQueue { services.shared.queue }
    var now: EpochMilliseconds { services.shared.clock.now }
    var moment: MonotonicTime { services.shared.monotonic() }
    var room: Int {
        budget.room(
            slots: claimWidth,
            claimed: waiting.count + destinations.inFlightToAnswering(at: moment),
            unwritten: queue.unwrittenEnds)
    }

    /// The number of slots to claim pushes for.
    var claimWidth: Int { max(destinations.width, min(Bounds.retriesClaimedMin, budget.inFlightMax)) }

    var isIdle: Bool { destinations.inFlight == 0 }
    var isWorthClaiming: Bool { room >= budget.claimMin(slots: claimWidth) }
    var alarm: DueAlarm { queue.alarm }
    let lookPause = Bounds.retryLookPause
    let pollInterval = Bounds.retryPollInterval
    let unreadableEvent: StaticString = "queue.unreadable"

    /// The next check: soon if waiting pushes have no slot, so that pushes to a silent destination make room.
    var nextCheck: EpochMilliseconds? {
        waiting.isEmpty ? nil : now + Bounds.retryStallTime.inMilliseconds
    }

    func begin(for worker: DueWorker) {
        self.worker = worker
        pauseTimer = Timer(on: services.loop) { [unowned self] in
            isPausing = false
            send()
        }
        let loop = services.loop
        let pushes = LoopBound(self, on: loop)
        queue.onEndsWritten { loop.submit { pushes.value.send() } }
    }

    func giveBackAll() {
        queue.onEndsWritten(nil)
        pauseTimer = nil
        isPausing = false
        giveBack(waiting.takeAll())
    }

    // MARK: Claiming

    func prepareLook(at now: EpochMilliseconds, _ moment: MonotonicTime) -> DueWorker.Look {
        clock.look(at: now, moment)
        postponeStalled()
        endWhatIsOver()
        return room > 0 ? .claim : .full
    }

    func claim(
        at now: EpochMilliseconds, _ moment: MonotonicTime
    ) async throws(StorageError) -> DueWorker.Found {
        let storage = services.shared.storage
        let began = services.loop.now
        let scope = pace.scope(at: began)
        let limit = max(1, min(room, Bounds.retriesPerClaimMax))
        let lease = queue.lease(owner: services.makeID(), at: now)
        try await clock.prepareClaim(at: now, moment)
        let claimed = try await storage.claimPushes(dueAt: now, lease: lease, limit: limit, scope: scope)
        pace.claimed(scope, from: began, to: services.loop.now)
        // The pushes are leased now, even if the following calls fail.
        took(claimed, lease, now, moment)
        let isAll = claimed.count < limit
        // If there are more, the ones just claimed have waited longest.
        let next = isAll ? try await storage.nextPushDue() : claimed.map(\.push.dueAt).min()
        try await measureIfDue(isEmpty: next == nil)
        queue.noteOldestDue(next)
        // A claim searches only some of the queue's parts.
        let areMoreDue = !claimed.isEmpty && next.map { $0 <= now } ?? false
        return DueWorker.Found(next: next, mayHaveMore: !isAll || areMoreDue)
    }

    private func took(
        _ claimed: [ClaimedPush], _ lease: PushLease, _ claimedAt: EpochMilliseconds,
        _ claimedMoment: MonotonicTime
    ) {
        // A push whose end couldn't be written is claimed again after its lease expires.
        let open = claimed.filter { !queue.isOver($0.push, owner: lease.owner) }
        let taken = open.map { push in
            Waiting(
                claimed: push, leased: LeasedPush(push.push, to: push.device, owner: lease.owner),
                claimedAt: claimedAt, claimedMoment: claimedMoment, destination: destination(of: push))
        }
        guard worker?.isStopping == false else { return giveBack(taken) }
        for push in taken { waiting.append(push, for: push.destination) }
        postponeStalled()
        send()
    }

    /// Measures the queue if the last measurement was long enough ago.
    ///
    /// A long queue takes long to measure, so it is measured less often.
    private func measureIfDue(isEmpty: Bool) async throws(StorageError) {
        let began = services.loop.now
        guard began >= measuresAt else { return }
        measuresAt = began + Bounds.retryPollInterval
        guard !isEmpty else { return queue.noteWaiting(QueueSize()) }
        queue.noteWaiting(try await services.shared.storage.measurePushes(limit: queue.options.totalMax))
        let now = services.loop.now
        measuresAt = max(measuresAt, now + now.since(began) * Bounds.queueMeasureRest)
    }

    func giveBack(_ pushes: [Waiting]) {
        for push in pushes { queue.end(push.leased.givenBack()) }
    }

    /// Postpones pushes whose destination isn't responding and has no free slot.
    ///
    /// They are treated as sent and unanswered, which makes room for claiming others.
    private func postponeStalled() {
        guard !waiting.isEmpty else { return }
        let silent = destinations.silent(besides: services.slots.taken, at: moment)
        guard !silent.isEmpty else { return }
        let now = now
        let stalled = waiting.takeAll { destination, _ in destination.map { silent.contains($0) } ?? false }
        for push in stalled { postpone(push, .unreachable, at: now) }
    }

    /// Ends or gives back waiting pushes that have expired or whose lease is running out.
    private func endWhatIsOver() {
        for push in waiting.takeAll(where: { isOver($1) }) { begin(push) }
    }

    /// Postpones an unsent push to its next attempt.
    func postpone(
        _ waiting: Waiting, _ cause: OutcomePolicy.RetryLater.Cause, at now: EpochMilliseconds
    ) {
        finish(waiting.leased, .retryLater(OutcomePolicy.RetryLater(reason: "", cause: cause)), at: now)
    }

    func finish(_ leased: LeasedPush, _ end: PushEnd, at now: EpochMilliseconds) {
        services.finish(leased, end, expiresAt: clock.end(of: leased.push, at: now, moment))
    }
}
