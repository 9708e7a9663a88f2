import Delays
import Network
import Storage

/// Sends schedules: claims due ones, sends them like requests, and advances their rows.
///
/// Confined to its loop, one per process; several processes share the table by claiming from it
/// (docs/design/schedules.md). While nothing is scheduled it makes one small query per
/// ``Bounds/schedulePollInterval``.
final class ScheduleWorker {
    /// A schedule that this worker has leased.
    struct Held {
        let claimed: ClaimedSchedule
        /// When it was claimed.
        let since: MonotonicTime
    }

    let services: LoopServices
    let sender: OccurrenceSender
    private var timer: Timer?
    private var waiting: [Held] = []
    private var underWay = 0
    private var isLooking = false
    private var mayHaveMore = false
    /// When the timer fires; `.max` if it isn't set.
    private var looksAt: EpochMilliseconds = .max
    private var backOff = BackOff(from: Bounds.endsBackOff.least, to: Bounds.schedulePollInterval)
    private var clock = ClockWatch()
    /// Nothing is sent before this time, because the clock was set forward.
    private var restsUntil: MonotonicTime?
    /// When schedules written by a clock that was ahead were last searched for; `nil` if a search is due.
    private var checkedAt: MonotonicTime?
    private(set) var isStopping = false
    private var stopTimer: Timer?
    private var onStopped: CheckedContinuation<Void, Never>?

    /// A worker on its services' loop; idle until ``start()``.
    init(on services: LoopServices) {
        self.services = services
        sender = OccurrenceSender(services: services)
    }

    var queue: ScheduleQueue { services.shared.schedules }
    private var now: EpochMilliseconds { services.shared.clock.now }
    private var moment: MonotonicTime { services.shared.monotonic() }

    // MARK: Lifecycle

    /// Sends due schedules now, and others as they become due.
    func start() {
        timer = Timer(on: services.loop) { [unowned self] in look() }
        let loop = services.loop
        let worker = LoopBound(self, on: loop)
        queue.onEarlierSchedule { due in loop.submit { worker.value.look(at: due) } }
        look()
    }

    /// Stops claiming, returns schedules it hasn't begun, and waits until the deadline for those being sent.
    func stop(within deadline: Duration) async {
        isStopping = true
        queue.onEarlierSchedule(nil)
        timer = nil
        let unsent = waiting
        waiting = []
        for held in unsent { giveBack(held) }
        await withCheckedContinuation { continuation in
            onStopped = continuation
            stopTimer = Timer(on: services.loop) { [unowned self] in stopped() }
            stopTimer?.schedule(after: deadline)
            stoppedIfIdle()
        }
    }

    private func stopped() {
        stopTimer?.cancel()
        onStopped?.resume()
        onStopped = nil
    }

    private func stoppedIfIdle() {
        if isStopping, underWay == 0, !isLooking { stopped() }
    }

    // MARK: Claiming

    /// Schedules a check, unless an earlier one is scheduled.
    private func look(at due: EpochMilliseconds) {
        guard !isStopping, due < looksAt else { return }
        looksAt = due
        queue.workerLooks(at: due)
        timer?.schedule(after: max(.milliseconds(max(0, due - now)), Bounds.scheduleLookPause))
    }

    /// Whether the clock was set forward recently, so that it may soon be set back.
    private func isResting() -> Bool {
        let moment = moment
        let step = clock.step(to: now, at: moment)
        if step >= Bounds.clockSkewMax { restsUntil = moment + Bounds.scheduleClockRest }
        if step <= .zero - Bounds.clockSkewMax { checkedAt = nil }
        guard let until = restsUntil else { return false }
        if moment >= until { restsUntil = nil }
        return restsUntil != nil
    }

    /// How many occurrences may be sent at once: few while the loop has many other pushes to send.
    private var width: Int {
        services.slots.taken - underWay > Bounds.schedulesBusyLoop
            ? Bounds.schedulesInFlightMin : Bounds.schedulesInFlightMax
    }

    /// Claims due schedules and schedules the next check.
    func look() {
        looksAt = .max
        queue.workerLooks(at: .max)
        guard !isStopping else { return }
        guard !isResting() else { return look(at: now + Bounds.scheduleClockRest.inMilliseconds) }
        guard !isLooking, waiting.isEmpty else {
            mayHaveMore = true
            return send()
        }
        isLooking = true
        mayHaveMore = false
        let claimedAt = now
        let since = moment
        nonisolated(unsafe) let worker = self  // why: confined to the loop that runs the task
        services.loop.spawn { _ in
            do throws(StorageError) {
                let due = try await worker.claim(at: claimedAt, since)
                worker.looked(next: due)
            } catch {
                worker.failed(error)
            }
        }
    }

    /// Claims due schedules; returns when to check next, or `nil` if nothing is known to become due.
    private func claim(
        at now: EpochMilliseconds, _ since: MonotonicTime
    ) async throws(StorageError) -> EpochMilliseconds? {
        let storage = services.shared.storage
        if checkedAt.map({ since.since($0) >= Bounds.scheduleClockCheckInterval }) ?? true {
            try await redate(at: now)
            checkedAt = since
        }
        let next = try await storage.nextScheduleDue(at: now)
        queue.noteOldestDue(next.flatMap { $0 <= now ? $0 : nil })
        guard let next, next <= now else { return next }
        let lease = PushLease(owner: services.makeID(), until: now + leaseTime.inMilliseconds)
        let bucket = Int.random(in: 0..<StorageLimits.buckets, using: &services.generator)
        let limit = width
        let claimed = try await storage.claimSchedules(dueAt: now, lease: lease, limit: limit, from: bucket)
        let held = claimed.map { Held(claimed: $0, since: since) }
        guard !isStopping else {
            for held in held { giveBack(held) }
            return nil
        }
        waiting += held
        guard claimed.count < limit else {
            mayHaveMore = true
            return nil
        }
        // Other relays took the schedules, or no more are due.
        return claimed.isEmpty
            ? now + .random(in: 1...Bounds.scheduleContentionPause.inMilliseconds, using: &services.generator)
            : try await storage.nextScheduleDue(at: now)
    }

    /// How long a claim leases a schedule: the maximum time for waiting and sending, plus the maximum clock skew.
    private var leaseTime: Duration {
        let limits = services.shared.limits
        let lease = Bounds.scheduleWaitMax + limits.eventDeadline * 2 + limits.claimLeaseMargin
        // A longer lease would count as expired.
        return min(lease, .milliseconds(StorageLimits.scheduleLeaseMax) - Bounds.clockSkewMax)
    }

    private func looked(next: EpochMilliseconds?) {
        isLooking = false
        backOff.reset()
        // Keeps relays from polling in step.
        let jitter = EpochMilliseconds.random(in: 0..<1_000, using: &services.generator)
        let poll = now + Bounds.schedulePollInterval.inMilliseconds + jitter
        if !mayHaveMore { look(at: min(next ?? poll, poll)) }
        send()
    }

    private func failed(_ error: StorageError) {
        isLooking = false
        services.shared.log(.warning, "schedules.unreadable", [.storageError(error)])
        look(at: now + backOff.next().inMilliseconds)
        send()
    }

    // MARK: Sending

    private func send() {
        while !waiting.isEmpty, underWay < width {
            let held = waiting.removeFirst()
            guard moment.since(held.since) < Bounds.scheduleWaitMax else {
                giveBack(held)
                continue
            }
            underWay += 1
            nonisolated(unsafe) let worker = self  // why: confined to the loop that runs the task
            services.loop.spawn { _ in
                await worker.run(held)
                worker.underWay -= 1
                worker.send()
            }
        }
        if mayHaveMore, !isLooking, waiting.isEmpty, !isStopping { look() }
        stoppedIfIdle()
    }

    private func run(_ held: Held) async {
        let end = await end(of: held.claimed.schedule)
        await settle(held, end)
    }

    /// Sends the due occurrence, and returns how the lease on its schedule ends.
    private func end(of schedule: Schedule) async -> ScheduleEnd {
        guard let rule = ScheduleRule(schedule) else {
            queue.count(.invalid)
            let word = ScheduleQueue.Outcome.invalid.rawValue
            return .next(
                nextAt: schedule.nextAt, dueAt: now + Bounds.scheduleLookInterval.inMilliseconds,
                ScheduleEnd.Outcome(at: now, word: word))
        }
        let devices: [Device]
        do throws(StorageError) {
            devices =
                rule.usesDeviceZones
                ? try await services.shared.storage.devices(of: SecretKey(primary: schedule.secretHash)) : []
        } catch {
            queue.count(.storage)
            return .again(dueAt: now + EpochMilliseconds(Bounds.scheduleRetrySeconds) * 1_000)
        }
        let names = DeviceZones(Recipients(devices), zone: services.zone).names
        let due = DuePlan(of: schedule, rule, zones: names, services.rules.timeZones, at: now)
        guard case .plan(let plan, let zones) = due else {
            queue.count(.unknownTimeZone)
            log(schedule, .unknownTimeZone, 0)
            // Another relay may know the zone, or this one after an update of the zone data.
            return .next(
                nextAt: schedule.nextAt, dueAt: now + Bounds.scheduleZoneInterval.inMilliseconds,
                ScheduleEnd.Outcome(at: now, word: ScheduleQueue.Outcome.unknownTimeZone.rawValue))
        }
        guard let nominal = plan.send else {
            guard plan.skipped > 0 else { return advanced(schedule, rule, to: plan.next, nil) }
            queue.count(.skipped, times: plan.skipped)
            log(schedule, .skipped, plan.skipped)
            // The row may end now, and then nothing else shows that it was missed.
            sender.recordMissed(schedule)
            return advanced(
                schedule, rule, to: plan.next,
                ScheduleEnd.Outcome(
                    at: now, word: ScheduleQueue.Outcome.skipped.rawValue, skipped: plan.skipped))
        }
        switch await sender.send(Occurrence(schedule: schedule, nominal: nominal, zones: zones)) {
        case .postponed(let reason, let seconds):
            queue.count(reason)
            let jitter = EpochMilliseconds.random(in: 0..<5_000, using: &services.generator)
            return .again(dueAt: now + EpochMilliseconds(seconds) * 1_000 + jitter)
        case .over(.invalid):
            queue.count(.invalid)
            // Another relay may understand it, or this one after an upgrade; otherwise `lateBy` ends it.
            return .next(
                nextAt: schedule.nextAt, dueAt: now + Bounds.scheduleLookInterval.inMilliseconds,
                ScheduleEnd.Outcome(at: now, word: ScheduleQueue.Outcome.invalid.rawValue))
        case .over(let outcome):
            queue.count(outcome)
            if plan.skipped > 0 { queue.count(.skipped, times: plan.skipped) }
            log(schedule, outcome, plan.skipped)
            let unsent = outcome == .blocked ? 1 : 0
            return advanced(
                schedule, rule, to: plan.next,
                ScheduleEnd.Outcome(at: now, word: outcome.rawValue, skipped: plan.skipped + unsent))
        }
    }

    private func advanced(
        _ schedule: Schedule, _ rule: ScheduleRule, to next: EpochMilliseconds?,
        _ outcome: ScheduleEnd.Outcome?
    ) -> ScheduleEnd {
        guard let next else { return .over }
        let interval = rule.usesDeviceZones ? Bounds.scheduleZoneInterval : Bounds.scheduleLookInterval
        let due = min(schedule.spread(next), now + interval.inMilliseconds)
        return .next(nextAt: next, dueAt: schedule.rule == nil ? schedule.spread(next) : due, outcome)
    }

    private func log(_ schedule: Schedule, _ outcome: ScheduleQueue.Outcome, _ skipped: Int) {
        var fields: [LogField] = [
            .secretHash(schedule.secretHash), .note("kind", schedule.kind.rawValue),
            .note("schedule", schedule.id.text), .note("outcome", outcome.rawValue),
        ]
        if skipped > 0 { fields.append(.count("skipped", skipped)) }
        services.shared.log(.info, "schedule", fields)
    }

    // MARK: Ending

    /// Writes the end of a lease, retrying until the lease expires; then another worker finds the receipt.
    private func settle(_ held: Held, _ end: ScheduleEnd) async {
        let until = held.since + (leaseTime - Bounds.clockSkewMax)
        var backOff = Bounds.endsBackOff
        while true {
            do throws(StorageError) {
                _ = try await services.shared.storage.settle(held.claimed, end)
                if case .next(_, let due, _) = end { look(at: due) }
                if case .again(let due) = end { look(at: due) }
                return
            } catch {
                guard error.canBeCured, !isStopping, moment < until else {
                    return services.shared.log(
                        .warning, "schedule.not_advanced",
                        [.note("schedule", held.claimed.schedule.id.text), .storageError(error)])
                }
            }
            await services.loop.pause(backOff.next())
        }
    }

    /// Returns a schedule unsent.
    private func giveBack(_ held: Held) {
        underWay += 1
        nonisolated(unsafe) let worker = self  // why: confined to the loop that runs the task
        services.loop.spawn { _ in
            await worker.settle(held, .again(dueAt: held.claimed.schedule.dueAt))
            worker.underWay -= 1
            worker.send()
        }
    }
}
