internal import HTTP2

/// The header fields of one connection's pushes, in one buffer that is filled anew for each.
///
/// `:path` and `authorization` stay out of the compression tables; `apns-id`, `apns-expiration` and `apns-collapse-id`
/// go in with the first push, so that their names are known, and stay out afterwards. Source: Apple, "Sending
/// notification requests to APNs".
struct PushFields {
    private static let prefixCount = 3

    private var fields = HeaderFields()
    private var hasIndexedCollapseID = false
    private var hasIndexed = false

    /// The fields of a connection to `authority`: host and, where it isn't 443, port.
    init(authority: String) {
        fields.reserveCapacity(fieldCount: 12, byteCount: 1024)
        fields.append(":method", "POST" as StaticString)
        fields.append(":scheme", "https" as StaticString)
        fields.append(":authority", authority)
    }

    /// The fields of `push` with `authorization`, valid until the next call.
    mutating func fill(_ push: Push, authorization: [UInt8]) -> HeaderFields {
        fields.truncate(to: Self.prefixCount)
        fields.begin(":path", indexed: false)
        fields.appendValue("/3/device/" as StaticString)
        fields.appendValue(push.deviceToken.text)
        fields.append("authorization", authorization, indexed: false)
        fields.append("apns-topic", push.topic.text)
        fields.append("apns-push-type", push.pushType.rawValue)
        fields.append("apns-priority", push.priority.text)
        fields.append("apns-expiration", String(push.expiration), indexed: !hasIndexed)
        fields.append("apns-id", push.id, indexed: !hasIndexed)
        hasIndexed = true
        if let collapseID = push.collapseID {
            fields.append("apns-collapse-id", collapseID.text, indexed: !hasIndexedCollapseID)
            hasIndexedCollapseID = true
        }
        return fields
    }
}
