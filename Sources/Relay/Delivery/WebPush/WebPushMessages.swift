import APNs
import Storage
import WebPush

/// Makes the messages of pushes; pushes with one content share a message.
struct WebPushMessages {
    /// What a message depends on besides its push's notification.
    private struct Variant: Equatable {
        let page: String?
        let tenant: SecretHash
        let isUnsealed: Bool
        /// The seconds for which the push service keeps it.
        let timeToLive: Int
    }

    /// A message, and whether it would be smaller without its sealed text.
    struct Made {
        let message: Message
        let isSealed: Bool
    }

    private var last: (notification: Notification, variant: Variant, made: Made)?

    /// The message of a push; `nil` if it shows nothing.
    mutating func message(
        of push: APNs.Push, _ route: WebPushRoute, _ keys: WebPushKeys, at now: EpochMilliseconds
    ) -> Made? {
        let notification = push.notification
        let seconds =
            notification.expiration == 0
            ? 0 : max(0, Int(clamping: notification.expiration) - Int(now / 1_000))
        let variant = Variant(
            page: route.device.page, tenant: route.secretHash, isUnsealed: route.isUnsealed,
            timeToLive: seconds)
        if let last, last.variant == variant, last.notification === notification { return last.made }
        guard var payload = WebPushPayload(notification.payload, page: route.device.page) else { return nil }
        if route.isUnsealed { payload = payload.unsealed }
        let handling = Handling(
            timeToLive: seconds, urgency: Urgency(priority: notification.priority.rawValue),
            topic: notification.collapseID.map { keys.topic($0, of: route.secretHash) })
        let made = Made(
            message: Message(payload: payload.bytes, handling: handling), isSealed: payload.isSealed)
        last = (notification, variant, made)
        return made
    }
}
