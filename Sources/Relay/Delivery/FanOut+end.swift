import APNs
import Storage

/// What becomes of the pushes without an outcome when the event's time is over, and of the outcomes that come after.
extension FanOut {
    /// Stores what APNs could not take and what has no outcome; from then on each device has a result.
    func storeUnsent() async {
        let now = services.shared.clock.now
        let queue = services.shared.queue
        let lease = queue.lease(owner: services.makeID(), at: now)
        var held: [(index: Int, push: PendingPush)] = []
        var unsent: [(index: Int, push: PendingPush, reason: String)] = []
        for index in items.indices {
            // Most have ended, and nothing of them is copied.
            if case .ended = items[index].phase { continue }
            guard let push = items[index].push else { continue }
            switch items[index].phase {
            case .ended, .storing, .held:
                break
            case .notBegun where push.mayWait:
                unsent.append((index, row(push, index, attempts: 0, dueAt: now), Self.deadlineExceeded))
            case .inFlight where push.mayWait:
                items[index].phase = .storing(step: nil)
                held.append((index, row(push, index, attempts: 0, dueAt: now)))
            case .notBegun, .inFlight:
                items[index].phase = .ended(.failed(reason: Self.deadlineExceeded))
            case .later(let retry):
                let random = Double.random(in: 0..<1, using: &services.generator)
                let due = queue.options.schedule.due(
                    after: retry, attempts: 1, at: now, expiresAt: push.expiresAt, random: random)
                unsent.append((index, row(push, index, attempts: 1, dueAt: due), retry.reason))
            }
        }
        // Both at once: the caller has waited for its event's time already.
        let (heldRows, unsentRows) = (held.map(\.push), unsent.map(\.push))
        async let storedHeld = queue.store(heldRows, lease: lease)
        async let storedUnsent = queue.store(unsentRows, lease: nil)
        for (held, result) in zip(held, await storedHeld) { stored(held.push, held.index, result, lease) }
        for (unsent, result) in zip(unsent, await storedUnsent) {
            items[unsent.index].phase = .ended(DeviceResult.Status(result, reason: unsent.reason))
        }
    }

    private func row(_ push: Push, _ index: Int, attempts: Int, dueAt: EpochMilliseconds) -> PendingPush {
        PendingPush(
            push, to: devices[index], eventType: content.logType, sessionID: content.sessionID,
            attempts: attempts,
            dueAt: dueAt, createdAt: begunAt)
    }

    /// A push that was in flight is in the queue, or could not be stored.
    private func stored(
        _ push: PendingPush, _ index: Int, _ result: PushQueue.Result, _ lease: PushLease
    ) {
        guard case .storing(let step) = items[index].phase else { return }
        if case .refused(let reason) = result {
            items[index].phase = .ended(.failed(reason: reason))
            if let step { applyAlone(step, index) }
            return
        }
        let held = HeldPush(push, to: devices[index], owner: lease.owner)
        items[index].phase = .held(held)
        if let step { end(held, step) }
    }

    // MARK: Outcomes after the event's time

    func decideLate(_ step: OutcomePolicy.Step, _ index: Int) {
        inFlight -= 1
        services.slots.giveBack()
        switch items[index].phase {
        case .storing:
            items[index].phase = .storing(step: step)
        case .held(let held):
            end(held, step)
        case .inFlight:
            // The time is over this very moment, and the results are looked at next.
            items[index].phase = Self.phase(after: step, of: items[index].push)
            applyAlone(step, index)
        case .notBegun, .ended, .later:
            applyAlone(step, index)
        }
        if inFlight == 0 { logReport() }
    }

    private static func phase(after step: OutcomePolicy.Step, of push: Push?) -> Phase {
        switch step {
        case .sent: .ended(.sent(apnsID: push?.id ?? ""))
        case .sendAgain: .notBegun
        case .retryLater(let retry):
            push?.mayWait == true ? .later(retry) : .ended(.failed(reason: retry.reason))
        case .failed(let failure): .ended(.failed(reason: failure.reason))
        }
    }

    /// Settles the row of a push that had its outcome.
    private func end(_ held: HeldPush, _ step: OutcomePolicy.Step) {
        if case .sent(let environment?) = step { services.store(environment, of: held.device) }
        let queue = services.shared.queue
        let random = Double.random(in: 0..<1, using: &services.generator)
        queue.end(
            held.end(
                after: step, queue.options.schedule, at: services.shared.clock.now, random: random))
    }

    /// Does what an outcome says of the registration, where the push has no row.
    private func applyAlone(_ step: OutcomePolicy.Step, _ index: Int) {
        switch step {
        case .sent(let environment?): services.store(environment, of: devices[index])
        case .failed(let failure):
            if let time = failure.removeIfNotUpdatedAfter { remove(index, ifNotUpdatedAfter: time) }
        case .sent, .sendAgain, .retryLater: break
        }
    }
}

extension FanOut.Phase {
    /// What the answer says; by then every device has a result.
    var result: DeviceResult.Status {
        switch self {
        case .ended(let status): status
        case .held: .queued(reason: FanOut.deadlineExceeded)
        case .notBegun, .inFlight, .later, .storing: .failed(reason: FanOut.deadlineExceeded)
        }
    }
}

extension DeviceResult.Status {
    /// The result of a push that was to be stored because of a reason.
    fileprivate init(_ result: PushQueue.Result, reason: String) {
        self =
            switch result {
            case .queued: .queued(reason: reason)
            case .refused(let refusal): .failed(reason: refusal)
            }
    }
}
