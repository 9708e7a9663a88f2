import APNs
import Storage
import WebPush

/// Creates the messages for pushes; consecutive pushes with the same content share a message.
struct WebPushMessages {
    /// The inputs to a message other than its push's notification.
    private struct Variant: Equatable {
        let page: String?
        let tenant: SecretHash
        let isSmall: Bool
        /// How long the push service keeps the message, in seconds.
        let timeToLive: Int
    }

    /// The largest message that Firefox on Android receives, in bytes of plaintext; its push service passes messages on
    /// as JSON.
    static let smallBytesMax = 2_912

    /// A message.
    struct Made {
        let message: Message
        /// Whether the message can be made smaller.
        var mayShrink: Bool { message.payload.count > smallBytesMax }
    }

    private var last: (notification: Notification, variant: Variant, made: Made)?

    /// The message for a push; `nil` if the push shows nothing.
    mutating func message(
        of push: APNs.Push, _ route: WebPushRoute, _ keys: WebPushKeys, at now: EpochMilliseconds
    ) -> Made? {
        let notification = push.notification
        let seconds =
            notification.expiration == 0
            ? 0 : max(0, Int(clamping: notification.expiration) - Int(now / 1_000))
        let variant = Variant(
            page: route.device.page, tenant: route.secretHash, isSmall: route.isSmall,
            timeToLive: seconds)
        if let last, last.variant == variant, last.notification === notification { return last.made }
        guard let payload = WebPushPayload(notification.payload, page: route.device.page) else { return nil }
        let bytes =
            route.isSmall ? payload.bytes(limit: Self.smallBytesMax, isSealed: false) : payload.bytes()
        let handling = Handling(
            timeToLive: seconds, urgency: Urgency(priority: notification.priority.rawValue),
            topic: notification.collapseID.map { keys.topic($0, of: route.secretHash) })
        let made = Made(message: Message(payload: bytes, handling: handling))
        last = (notification, variant, made)
        return made
    }
}
