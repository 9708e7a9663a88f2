import APNs
import Programs
import Storage

/// Stores pushes without an outcome when the event's deadline passes.
extension FanOut {
    /// Stores pushes that APNs couldn't accept or that have no outcome; afterwards every device has a result.
    func storeUnsent() async {
        let now = services.shared.clock.now
        let queue = services.shared.queue
        let lease = queue.lease(owner: services.makeID(), at: now)
        var inFlight: [(index: Int, push: PendingPush)] = []
        var unsent: [(index: Int, push: PendingPush, reason: String)] = []
        for index in items.indices {
            // Most have ended; avoid copying them.
            if case .ended = items[index].phase { continue }
            guard let push = items[index].push else { continue }
            switch items[index].phase {
            case .ended, .storing, .leased, .unconfirmed:
                break
            case .notBegun where items[index].mayWait:
                unsent.append(
                    (index, row(push, index, attempts: 0, dueAt: now), FailureReason.deadlineExceeded))
            case .inFlight where items[index].mayWait:
                items[index].phase = .storing(end: nil)
                inFlight.append((index, row(push, index, attempts: 0, dueAt: now)))
            case .notBegun, .inFlight:
                items[index].phase = .ended(.failed(reason: FailureReason.deadlineExceeded))
            case .later(let retry):
                let random = Double.random(in: 0..<1, using: &services.generator)
                let due = queue.options.schedule.due(
                    after: retry, attempts: 1, at: now, expiresAt: push.expiresAt, random: random)
                unsent.append((index, row(push, index, attempts: 1, dueAt: due), retry.reason))
            }
        }
        // Both kinds are stored concurrently, because the caller has already waited until the deadline.
        let leasedRows = inFlight.map { PushQueue.Addressed(push: $0.push, device: devices[$0.index]) }
        let unsentRows = unsent.map { PushQueue.Addressed(push: $0.push, device: devices[$0.index]) }
        let key = key
        let begun = recorder?.begin()
        async let storedLeased = queue.store(leasedRows, of: key, lease: lease)
        async let storedUnsent = queue.store(unsentRows, of: key, lease: nil)
        for (push, stored) in zip(inFlight, await storedLeased) {
            self.stored(stored, push.index, lease)
            if let begun, stored.result == .queued {
                recorder?.queued(push.push, FailureReason.deadlineExceeded, begun)
            }
        }
        for (unsent, stored) in zip(unsent, await storedUnsent) {
            items[unsent.index].phase = .ended(DeviceResult.Status(stored.result, reason: unsent.reason))
            if let begun, stored.result == .queued { recorder?.queued(unsent.push, unsent.reason, begun) }
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
        guard case .storing(let end) = items[index].phase else { return }
        let leased = LeasedPush(stored.row.push, to: stored.row.device, owner: lease.owner)
        switch stored.result {
        case .refused:
            // The push was already on its way to APNs, so the result must not say that it was never sent.
            items[index].phase = .ended(.failed(reason: FailureReason.deadlineExceeded))
            if let end { finish(index, end, mayWait: false) }
            return
        case .queued: items[index].phase = .leased(leased)
        case .unconfirmed: items[index].phase = .unconfirmed(leased)
        }
        if let end { services.finish(leased, end) }
    }
}

extension FanOut.Phase {
    /// The result for the response, which every device has at this point.
    var result: DeviceResult.Status {
        switch self {
        case .ended(let status): status
        case .leased: .queued(reason: FailureReason.deadlineExceeded)
        case .unconfirmed: .failed(reason: FailureReason.queueUnconfirmed)
        case .notBegun, .inFlight, .later, .storing: .failed(reason: FailureReason.deadlineExceeded)
        }
    }
}

extension DeviceResult.Status {
    /// The result of a push that should have been stored for this reason.
    fileprivate init(_ result: PushQueue.Result, reason: String) {
        self =
            switch result {
            case .queued: .queued(reason: reason)
            case .refused(let refusal): .failed(reason: refusal)
            case .unconfirmed: .failed(reason: FailureReason.queueUnconfirmed)
            }
    }
}
