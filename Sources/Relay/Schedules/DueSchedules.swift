import Delays
import Network
import Programs
import Storage

/// Sends due schedules in the same way as requests, and advances their rows (docs/design/schedules.md).
///
/// While nothing is scheduled, its worker makes one small query per ``Bounds/schedulePollInterval``.
final class DueSchedules: DueWork {
    /// A schedule that this worker has leased.
    struct Leased {
        let claimed: ClaimedSchedule
        /// When the schedule was claimed.
        let since: MonotonicTime
    }

    let services: LoopServices
    let sender: OccurrenceSender
    private weak var worker: DueWorker?
    private var waiting: [Leased] = []
    private var underWay = 0
    private var clock = ClockWatch()
    /// The time until which nothing is sent, because the clock was set forward.
    private var restsUntil: MonotonicTime?
    /// When the last search began for schedules written with a clock that was ahead; `nil` if a search is due.
    private var checkedAt: MonotonicTime?

    /// Creates the sender for the services' database; nothing is sent before a ``DueWorker`` begins.
    init(on services: LoopServices) {
        self.services = services
        sender = OccurrenceSender(services: services)
    }

    var queue: ScheduleQueue { services.shared.schedules }
    private var now: EpochMilliseconds { services.shared.clock.now }
    private var moment: MonotonicTime { services.shared.monotonic() }

    var isStopping: Bool { worker?.isStopping ?? true }
    var isIdle: Bool { underWay == 0 }
    var isWorthClaiming: Bool { waiting.isEmpty }
    var alarm: DueAlarm { queue.alarm }
    let lookPause = Bounds.scheduleLookPause
    let pollInterval = Bounds.schedulePollInterval
    let unreadableEvent: StaticString = "schedules.unreadable"
    let nextCheck: EpochMilliseconds? = nil

    func begin(for worker: DueWorker) { self.worker = worker }

    func giveBackAll() {
        let unsent = waiting
        waiting = []
        for leased in unsent { giveBack(leased) }
    }

    // MARK: Claiming

    /// Whether the clock was set forward recently and may therefore soon be set back.
    private func isResting() -> Bool {
        let moment = moment
        let step = clock.step(to: now, at: moment)
        if step >= Bounds.clockSkewMax { restsUntil = moment + Bounds.scheduleClockRest }
        if step <= .zero - Bounds.clockSkewMax { checkedAt = nil }
        guard let until = restsUntil else { return false }
        if moment >= until { restsUntil = nil }
        return restsUntil != nil
    }

    /// How many occurrences may be sent concurrently: few while the loop has many other pushes to send.
    private var width: Int {
        services.slots.taken - underWay > Bounds.schedulesBusyLoop
            ? Bounds.schedulesInFlightMin : Bounds.schedulesInFlightMax
    }

    func prepareLook(at now: EpochMilliseconds, _ moment: MonotonicTime) -> DueWorker.Look {
        guard !isResting() else { return .later(now + Bounds.scheduleClockRest.inMilliseconds) }
        return waiting.isEmpty ? .claim : .full
    }

    func claim(
        at now: EpochMilliseconds, _ since: MonotonicTime
    ) async throws(StorageError) -> DueWorker.Found {
        let storage = services.shared.storage
        if checkedAt.map({ since.since($0) >= Bounds.scheduleClockCheckInterval }) ?? true {
            try await redate(at: now)
            checkedAt = since
        }
        let next = try await storage.nextScheduleDue(at: now)
        queue.noteOldestDue(next.flatMap { $0 <= now ? $0 : nil })
        guard let next, next <= now else { return DueWorker.Found(next: next) }
        let lease = PushLease(owner: services.makeID(), until: now + leaseTime.inMilliseconds)
        let bucket = Int.random(in: 0..<StorageLimits.buckets, using: &services.generator)
        let limit = width
        let claimed = try await storage.claimSchedules(dueAt: now, lease: lease, limit: limit, from: bucket)
        let leased = claimed.map { Leased(claimed: $0, since: since) }
        guard !isStopping else {
            for leased in leased { giveBack(leased) }
            return DueWorker.Found()
        }
        waiting += leased
        guard claimed.count < limit else { return DueWorker.Found(mayHaveMore: true) }
        guard claimed.isEmpty else {
            return DueWorker.Found(next: try await storage.nextScheduleDue(at: now))
        }
        // Other relays took the schedules.
        let pause = Bounds.scheduleContentionPause.inMilliseconds
        return DueWorker.Found(next: now + .random(in: 1...pause, using: &services.generator))
    }

    /// How long a claim leases a schedule: the maximum time for waiting and sending, plus the maximum clock skew.
    private var leaseTime: Duration {
        let limits = services.shared.limits
        let lease = Bounds.scheduleWaitMax + limits.eventDeadline * 2 + limits.claimLeaseMargin
        // A longer lease would count as expired.
        return min(lease, .milliseconds(StorageLimits.scheduleLeaseMax) - Bounds.clockSkewMax)
    }

    // MARK: Sending

    func send() {
        while !waiting.isEmpty, underWay < width {
            let leased = waiting.removeFirst()
            guard moment.since(leased.since) < Bounds.scheduleWaitMax else {
                giveBack(leased)
                continue
            }
            underWay += 1
            nonisolated(unsafe) let schedules = self  // why: confined to the loop that runs the task
            services.loop.spawn { _ in
                await schedules.run(leased)
                schedules.underWay -= 1
                schedules.send()
            }
        }
        worker?.sent()
    }

    private func run(_ leased: Leased) async {
        let end = await end(of: leased.claimed.schedule)
        await endLease(leased, end)
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
            // Another relay may know the zone, and so may this relay once its zone data is updated.
            return .next(
                nextAt: schedule.nextAt, dueAt: now + Bounds.scheduleZoneInterval.inMilliseconds,
                ScheduleEnd.Outcome(at: now, word: ScheduleQueue.Outcome.unknownTimeZone.rawValue))
        }
        guard let nominal = plan.send else {
            guard plan.skipped > 0 else { return advanced(schedule, rule, to: plan.next, nil) }
            queue.count(.skipped, times: plan.skipped)
            log(schedule, .skipped, plan.skipped)
            // The row may be removed now, in which case nothing else shows that the occurrence was missed.
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
            // Another relay may understand the content, and so may this relay after an upgrade; otherwise `lateBy` ends
            // the schedule.
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

    /// Writes the end of a lease, retrying until the lease expires, after which another worker finds the receipt.
    private func endLease(_ leased: Leased, _ end: ScheduleEnd) async {
        let until = leased.since + (leaseTime - Bounds.clockSkewMax)
        var backOff = Bounds.endsBackOff
        while true {
            do throws(StorageError) {
                _ = try await services.shared.storage.settle(leased.claimed, end)
                if case .next(_, let due, _) = end { worker?.look(at: due) }
                if case .again(let due) = end { worker?.look(at: due) }
                return
            } catch {
                guard error.canBeCured, !isStopping, moment < until else {
                    return services.shared.log(
                        .warning, "schedule.not_advanced",
                        [.note("schedule", leased.claimed.schedule.id.text), .storageError(error)])
                }
            }
            await services.loop.pause(backOff.next())
        }
    }

    /// Ends the lease on a schedule without sending it.
    private func giveBack(_ leased: Leased) {
        underWay += 1
        nonisolated(unsafe) let schedules = self  // why: confined to the loop that runs the task
        services.loop.spawn { _ in
            await schedules.endLease(leased, .again(dueAt: leased.claimed.schedule.dueAt))
            schedules.underWay -= 1
            schedules.send()
        }
    }
}
