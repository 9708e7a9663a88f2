internal import HTTP2

/// The header fields for one connection's pushes, in one buffer whose common part is reused.
///
/// `:path` and `authorization` are not indexed by HPACK. `apns-id`, `apns-expiration` and `apns-collapse-id` are
/// indexed only the first time that they are sent, which puts their names into HPACK's table. Source: Apple, "Sending
/// notification requests to APNs".
struct PushFields {
    /// The values that the common part was made from.
    private struct Common {
        let tokenSerial: UInt64
        let topic: Topic
        let pushType: PushType
        let priority: Priority
    }

    private static let pathIndex = 0

    private let authority: String
    private var fields = HeaderFields()
    private var common: Common?
    private var mark: HeaderFields.Mark
    private var hasIndexed = false
    private var hasIndexedCollapseID = false
    /// The last push's expiration; most pushes sent within the same second share it.
    private var expiration: (value: UInt64, text: String) = (0, "0")

    /// Creates the fields for `authority`: the host, with the port unless it is 443.
    init(authority: String) {
        self.authority = authority
        fields.reserveCapacity(fieldCount: 12, byteCount: 1024)
        mark = fields.mark
    }

    /// Sends a push with a provider token and returns its stream's slot.
    ///
    /// This method is in this type so that the fields are borrowed, not copied; the connection's `submit` never calls
    /// it back.
    mutating func submit(
        _ push: Push, token: ProviderToken, on connection: HTTP2ClientConnection
    ) throws(HTTP2Error) -> StreamSlot {
        fill(push, token: token)
        return try connection.submit(fields, body: push.notification.payload)
    }

    private mutating func fill(_ push: Push, token: ProviderToken) {
        let notification = push.notification
        if let common, common.tokenSerial == token.serial, common.priority == notification.priority,
            common.pushType == notification.pushType, common.topic == notification.topic
        {
            fields.rewind(to: mark)
        } else {
            begin(notification, token: token)
        }
        fields.replace(at: Self.pathIndex, "/3/device/", push.deviceToken.text)
        if notification.expiration != expiration.value {
            expiration = (notification.expiration, String(notification.expiration))
        }
        fields.append("apns-expiration", expiration.text, indexed: !hasIndexed)
        fields.append("apns-id", push.id, indexed: !hasIndexed)
        hasIndexed = true
        if let collapseID = notification.collapseID {
            fields.append("apns-collapse-id", collapseID.text, indexed: !hasIndexedCollapseID)
            hasIndexedCollapseID = true
        }
    }

    private mutating func begin(_ notification: Notification, token: ProviderToken) {
        fields.removeAll()
        fields.append(":path", "" as StaticString, indexed: false)
        fields.append(":method", "POST" as StaticString)
        fields.append(":scheme", "https" as StaticString)
        fields.append(":authority", authority)
        fields.append("authorization", token.authorization, indexed: false)
        let suffix = notification.pushType.topicSuffix
        let topic = notification.topic.text
        fields.append("apns-topic", suffix.isEmpty ? topic : topic + suffix)
        fields.append("apns-push-type", notification.pushType.rawValue)
        fields.append("apns-priority", notification.priority.text)
        common = Common(
            tokenSerial: token.serial, topic: notification.topic, pushType: notification.pushType,
            priority: notification.priority)
        mark = fields.mark
    }
}
