import APNs
import Storage

/// A push whose row in the queue this process holds, and what becomes of the row when the push has an outcome.
///
/// Both kinds come here: pushes that the worker claimed, and those that were in flight when their event was answered.
struct HeldPush {
    /// The push; its `attempts` are those before this one.
    let push: PendingPush
    /// The device as it was read for this attempt.
    let device: Device
    /// Whose the lease is.
    let owner: UUIDv7

    /// A push under a lease.
    init(_ push: PendingPush, to device: Device, owner: UUIDv7) {
        self.push = push
        self.device = device
        self.owner = owner
    }

    /// The end of a hold for which no outcome was needed.
    func end(_ end: Settlement.End) -> PushQueue.End {
        PushQueue.End(
            settlement: Settlement(id: push.id, secretHash: push.secretHash, owner: owner, end: end))
    }

    /// It is over; its row in the delivery log says how.
    func over(_ status: DeliveryStatus, error: String? = nil, at now: EpochMilliseconds) -> PushQueue.End {
        end(
            .over(
                Delivery(
                    id: push.id, secretHash: push.secretHash, eventType: push.eventType,
                    sessionID: push.sessionID, status: status, error: error, createdAt: now,
                    deviceID: push.deviceID)))
    }

    /// What becomes of it after an outcome.
    ///
    /// A step that would send it again at once makes it due at once: whoever could do that doesn't come here with it.
    func end(
        after step: OutcomePolicy.Step, _ schedule: RetrySchedule, at now: EpochMilliseconds, random: Double
    ) -> PushQueue.End {
        switch step {
        case .sent:
            return over(.sent, at: now)
        case .sendAgain:
            return end(.again(dueAt: now, attempts: push.attempts + 1))
        case .retryLater(let retry):
            let due = schedule.due(
                after: retry, attempts: push.attempts + 1, at: now, expiresAt: push.expiresAt,
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
