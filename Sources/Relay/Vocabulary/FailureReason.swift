import Storage

/// The relay's own reasons for failing or queueing a push, as responses, the delivery log and metrics show them.
///
/// APNs' own reasons are in ``APNs/Reason``.
enum FailureReason {
    /// The device had no outcome by the event's deadline.
    static let deadlineExceeded = "DeadlineExceeded"
    /// The stored device token or bundle identifier isn't valid.
    static let invalidRegistration = "InvalidRegistration"
    /// The device's app is no longer configured.
    static let unknownBundle = "UnknownBundle"
    /// The device exceeds its push rate limit, counted across all secrets.
    static let deviceRateLimited = "DeviceRateLimited"
    /// The device's app is no longer configured for its environment.
    static let environmentNotAllowed = "EnvironmentNotAllowed"
    /// The retry queue is full.
    static let queueFull = "QueueFull"
    /// The database refused to store the push in the retry queue.
    static let queueUnavailable = "QueueUnavailable"
    /// The push may or may not be in the retry queue: the database didn't confirm it.
    static let queueUnconfirmed = "QueueUnconfirmed"
    /// The device was removed before its push could be sent.
    static let deviceRemoved = Delivery.deviceRemoved
    /// The secret was blocked while the push waited.
    static let blocked = "Blocked"
    /// The event was acknowledged or replied to while the push waited.
    static let acknowledged = "Acknowledged"
    /// The device's preferences excluded the push when its turn came.
    static let muted = "Muted"
    /// The push expired before APNs accepted it.
    static let expired = "Expired"
    /// The push waits for the end of the device's quiet hours.
    static let quietHours = "QuietHours"
    /// A scheduled send was too late; no push was made.
    static let scheduleMissed = "ScheduleMissed"
    /// The device is registered for Web Push, which the relay no longer sends.
    static let webPushOff = "WebPushOff"
    /// The push shows no text, which browsers don't allow.
    static let nothingToShow = "NothingToShow"
    /// The device has registered no token for this kind of push.
    static let noPushToken = "NoPushToken"

    static let all = [
        deadlineExceeded, invalidRegistration, unknownBundle, deviceRateLimited, environmentNotAllowed,
        queueFull, queueUnavailable, queueUnconfirmed, deviceRemoved, blocked, acknowledged, muted, expired,
        noPushToken, quietHours, scheduleMissed, webPushOff, nothingToShow,
    ]
}
