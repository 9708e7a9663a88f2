import APNs
import Storage

/// A push whose queue row this process has leased; converts an outcome into the end of the lease.
///
/// Used for pushes that the worker claimed, and for pushes still in flight when their event got its response.
struct LeasedPush {
    /// The push; `attempts` doesn't include the current one.
    let push: PendingPush
    /// The device as read for this attempt; `nil` if it was removed.
    let device: Device?
    /// The lease owner.
    let owner: UUIDv7

    /// Creates a push under a lease.
    init(_ push: PendingPush, to device: Device?, owner: UUIDv7) {
        self.push = push
        self.device = device
        self.owner = owner
    }

    /// Creates the lease's end from its outcome.
    func end(_ end: Settlement.End) -> PushQueue.End {
        PushQueue.End(
            settlement: Settlement(id: push.id, secretHash: push.secretHash, owner: owner, end: end))
    }

    /// Ends the push; its delivery log row records the result.
    func over(_ status: DeliveryStatus, error: String? = nil, at now: EpochMilliseconds) -> PushQueue.End {
        end(
            .over(
                Delivery(
                    id: push.id, secretHash: push.secretHash, eventType: push.eventType,
                    sessionID: push.sessionID, status: status, error: error, createdAt: now,
                    deviceID: push.deviceID, eventID: push.eventID)))
    }

    /// Ends the lease without an attempt.
    func givenBack() -> PushQueue.End { end(.again(dueAt: push.dueAt, attempts: push.attempts)) }

    /// Returns the end of the lease that follows from the push's end.
    ///
    /// - Parameter expiresAt: When the push expires, if that differs from the time in its row.
    func end(
        after pushEnd: PushEnd, _ schedule: RetrySchedule, at now: EpochMilliseconds,
        expiresAt: EpochMilliseconds? = nil, random: Double
    ) -> PushQueue.End {
        switch pushEnd {
        case .sent:
            return over(.sent, at: now)
        case .retryLater(let retry):
            let due = schedule.due(
                after: retry, attempts: push.attempts + 1, at: now, expiresAt: expiresAt ?? push.expiresAt,
                random: random)
            return end(.again(dueAt: due, attempts: push.attempts + 1))
        case .unfinished:
            return end(.again(dueAt: now, attempts: push.attempts + 1))
        case .unknownApp:
            // Another relay, or this one after a reload, may know the app: each reloads its apps file separately.
            let retry = OutcomePolicy.RetryLater(reason: FailureReason.unknownBundle, cause: .server)
            return end(
                after: .retryLater(retry), schedule, at: now, expiresAt: expiresAt, random: random)
        case .failed(let failure):
            var end = over(.failed, error: failure.reason, at: now)
            if let device, let time = failure.removeIfNotUpdatedAfter {
                end.removal = PushQueue.End.Removal(device: device, ifNotUpdatedAfter: time, at: now)
            }
            return end
        }
    }
}
