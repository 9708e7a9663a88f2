internal import HTTP2

/// The header fields of one connection's pushes, in one buffer whose first part stays from push to push.
///
/// `:path` and `authorization` stay out of the compression tables; `apns-id`, `apns-expiration` and `apns-collapse-id`
/// go in with the first push, so that their names are known, and stay out afterwards. Source: Apple, "Sending
/// notification requests to APNs".
struct PushFields {
    /// What the first part was made for.
    private struct Common: Equatable {
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
    /// The last push's expiration; most pushes of a second have the same.
    private var expiration: (value: UInt64, text: String) = (0, "0")

    /// The fields of a connection to `authority`: host and, where it isn't 443, port.
    init(authority: String) {
        self.authority = authority
        fields.reserveCapacity(fieldCount: 12, byteCount: 1024)
        mark = fields.mark
    }

    /// The fields of `push` with a provider token, good until the next call.
    mutating func fill(_ push: Push, token: ProviderToken) -> HeaderFields {
        if let common, common.tokenSerial == token.serial, common.priority == push.priority,
            common.pushType == push.pushType, common.topic == push.topic
        {
            fields.rewind(to: mark)
        } else {
            begin(push, token: token)
        }
        fields.replace(at: Self.pathIndex, "/3/device/", push.deviceToken.text)
        if push.expiration != expiration.value { expiration = (push.expiration, String(push.expiration)) }
        fields.append("apns-expiration", expiration.text, indexed: !hasIndexed)
        fields.append("apns-id", push.id, indexed: !hasIndexed)
        hasIndexed = true
        if let collapseID = push.collapseID {
            fields.append("apns-collapse-id", collapseID.text, indexed: !hasIndexedCollapseID)
            hasIndexedCollapseID = true
        }
        return fields
    }

    private mutating func begin(_ push: Push, token: ProviderToken) {
        fields.removeAll()
        fields.append(":path", "" as StaticString, indexed: false)
        fields.append(":method", "POST" as StaticString)
        fields.append(":scheme", "https" as StaticString)
        fields.append(":authority", authority)
        fields.append("authorization", token.authorization, indexed: false)
        fields.append("apns-topic", push.topic.text)
        fields.append("apns-push-type", push.pushType.rawValue)
        fields.append("apns-priority", push.priority.text)
        common = Common(
            tokenSerial: token.serial, topic: push.topic, pushType: push.pushType, priority: push.priority)
        mark = fields.mark
    }
}
