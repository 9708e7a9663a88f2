import APNs
import Storage

/// A push whose queue row this process has leased; converts an outcome into the end of the lease.
///
/// Used both for pushes that the worker claimed and for those still in flight when their event was answered.
struct LeasedPush {
    /// The push; `attempts` doesn't include the current one.
    let push: PendingPush
    /// The device as read for this attempt.
    let device: Device
    /// The lease owner.
    let owner: UUIDv7

    /// A push under a lease.
    init(_ push: PendingPush, to device: Device, owner: UUIDv7) {
        self.push = push
        self.device = device
        self.owner = owner
    }

    /// Ends the lease without an outcome.
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
                    deviceID: push.deviceID)))
    }

    /// Ends the lease after an outcome.
    ///
    /// A step that would resend immediately makes the row due now; callers that can resend don't call this.
    ///
    /// - Parameter expiresAt: When the push expires, if not at the time in its row.
    func end(
        after step: OutcomePolicy.Step, _ schedule: RetrySchedule, at now: EpochMilliseconds,
        expiresAt: EpochMilliseconds? = nil, random: Double
    ) -> PushQueue.End {
        switch step {
        case .sent:
            return over(.sent, at: now)
        case .sendAgain:
            return end(.again(dueAt: now, attempts: push.attempts + 1))
        case .retryLater(let retry):
            let due = schedule.due(
                after: retry, attempts: push.attempts + 1, at: now, expiresAt: expiresAt ?? push.expiresAt,
                random: random)
            return end(.again(dueAt: due, attempts: push.attempts + 1))
        case .failed(let failure):
            var end = over(.failed, error: failure.reason, at: now)
            end.removal = failure.removeIfNotUpdatedAfter.map {
                PushQueue.End.Removal(device: device, ifNotUpdatedAfter: $0, at: now)
            }
            return end
        }
    }
}
