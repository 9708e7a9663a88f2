import APNs
import Storage

/// Handles pushes without an outcome when the event's deadline passes, and outcomes that arrive later.
extension FanOut {
    /// Stores pushes that APNs couldn't accept or that have no outcome; afterwards every device has a result.
    func storeUnsent() async {
        let now = services.shared.clock.now
        let queue = services.shared.queue
        let lease = queue.lease(owner: services.makeID(), at: now)
        var held: [(index: Int, push: PendingPush)] = []
        var unsent: [(index: Int, push: PendingPush, reason: String)] = []
        for index in items.indices {
            // Most have ended; avoid copying them.
            if case .ended = items[index].phase { continue }
            guard let push = items[index].push else { continue }
            switch items[index].phase {
            case .ended, .storing, .held, .unconfirmed:
                break
            case .notBegun where items[index].mayWait:
                unsent.append(
                    (index, row(push, index, attempts: 0, dueAt: now), FailureReason.deadlineExceeded))
            case .inFlight where items[index].mayWait:
                items[index].phase = .storing(step: nil)
                held.append((index, row(push, index, attempts: 0, dueAt: now)))
            case .notBegun, .inFlight:
                items[index].phase = .ended(.failed(reason: FailureReason.deadlineExceeded))
            case .later(let retry):
                let random = Double.random(in: 0..<1, using: &services.generator)
                let due = queue.options.schedule.due(
                    after: retry, attempts: 1, at: now, expiresAt: push.expiresAt, random: random)
                unsent.append((index, row(push, index, attempts: 1, dueAt: due), retry.reason))
            }
        }
        // Both run at once, because the caller has already waited for the whole deadline.
        let heldRows = held.map { PushQueue.Addressed(push: $0.push, device: devices[$0.index]) }
        let unsentRows = unsent.map { PushQueue.Addressed(push: $0.push, device: devices[$0.index]) }
        let key = key
        async let storedHeld = queue.store(heldRows, of: key, lease: lease)
        async let storedUnsent = queue.store(unsentRows, of: key, lease: nil)
        for (held, stored) in zip(held, await storedHeld) { self.stored(stored, held.index, lease) }
        for (unsent, stored) in zip(unsent, await storedUnsent) {
            items[unsent.index].phase = .ended(DeviceResult.Status(stored.result, reason: unsent.reason))
        }
    }

    private func row(_ push: Push, _ index: Int, attempts: Int, dueAt: EpochMilliseconds) -> PendingPush {
        // An activity must show the event's state even if the event has been acknowledged.
        let isActivity = items[index].activity != nil
        return PendingPush(
            push, to: devices[index], eventType: content.logType(isActivity: isActivity),
            sessionID: content.sessionID, attempts: attempts, dueAt: dueAt, createdAt: begunAt,
            eventID: content.pushType == .alert && !isActivity ? eventID : nil,
            kind: isActivity ? nil : content.kind)
    }

    /// Records whether a push in flight was stored.
    private func stored(_ stored: PushQueue.Stored, _ index: Int, _ lease: PushLease) {
        guard case .storing(let step) = items[index].phase else { return }
        let held = LeasedPush(stored.row.push, to: stored.row.device, owner: lease.owner)
        switch stored.result {
        case .refused:
            // The push was already on its way to APNs, so the result must not say that it was never sent.
            let item = items[index]
            items[index].phase =
                step.map { Self.phase(after: $0, id: item.push?.id, mayWait: false) }
                ?? .ended(.failed(reason: FailureReason.deadlineExceeded))
            if let step { applyAlone(step, index) }
            return
        case .queued: items[index].phase = .held(held)
        case .unconfirmed: items[index].phase = .unconfirmed(held)
        }
        if let step { end(held, step) }
    }

    // MARK: Outcomes after the deadline

    func decideLate(_ step: OutcomePolicy.Step, _ index: Int) {
        inFlight -= 1
        services.slots.giveBack()
        switch items[index].phase {
        case .storing:
            items[index].phase = .storing(step: step)
        case .held(let held), .unconfirmed(let held):
            end(held, step)
        case .inFlight:
            // The deadline has just passed; the results are read next.
            items[index].phase = Self.phase(
                after: step, id: items[index].push?.id, mayWait: items[index].mayWait)
            applyAlone(step, index)
        case .notBegun, .ended, .later:
            applyAlone(step, index)
        }
        if inFlight == 0 { logReport() }
    }

    private static func phase(after step: OutcomePolicy.Step, id: String?, mayWait: Bool) -> Phase {
        switch step {
        case .sent: .ended(.sent(apnsID: id ?? ""))
        case .sendAgain: .notBegun
        case .retryLater(let retry):
            mayWait ? .later(retry) : .ended(.failed(reason: retry.reason))
        case .failed(let failure): .ended(.failed(reason: failure.reason))
        }
    }

    /// Settles the row of a push that got its outcome.
    private func end(_ held: LeasedPush, _ step: OutcomePolicy.Step) {
        if case .sent(let environment?) = step { services.store(environment, of: held.device) }
        let queue = services.shared.queue
        let random = Double.random(in: 0..<1, using: &services.generator)
        queue.end(
            held.end(
                after: step, queue.options.schedule, at: services.shared.clock.now, random: random))
    }

    /// Applies an outcome to the registration of a push without a row.
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
    /// The result for the response; by now every device has one.
    var result: DeviceResult.Status {
        switch self {
        case .ended(let status): status
        case .held: .queued(reason: FailureReason.deadlineExceeded)
        case .unconfirmed: .failed(reason: FailureReason.queueUnconfirmed)
        case .notBegun, .inFlight, .later, .storing: .failed(reason: FailureReason.deadlineExceeded)
        }
    }
}

extension DeviceResult.Status {
    /// The result of a push that was to be stored for this reason.
    fileprivate init(_ result: PushQueue.Result, reason: String) {
        self =
            switch result {
            case .queued: .queued(reason: reason)
            case .refused(let refusal): .failed(reason: refusal)
            case .unconfirmed: .failed(reason: FailureReason.queueUnconfirmed)
            }
    }
}
