internal import HTTP2

/// The header fields of a request for message delivery (RFC 8030, section 5).
enum RequestHeaders {
    /// The fields in HTTP/2 form.
    ///
    /// HPACK indexes neither fields that differ between pushes nor the path and the token, with which anyone could send
    /// pushes.
    static func fields(
        for handling: Handling, to endpoint: PushEndpoint, authorization: String, bodyBytes: Int
    ) -> HeaderFields {
        var fields = HeaderFields()
        fields.reserveCapacity(fieldCount: 13, byteCount: 1_024)
        fields.append(":method", "POST" as StaticString)
        fields.append(":scheme", "https" as StaticString)
        fields.append(":authority", endpoint.authority)
        fields.append(":path", endpoint.path, indexed: false)
        fields.append("authorization", authorization, indexed: false)
        fields.append("content-encoding", "aes128gcm" as StaticString)
        fields.append("content-type", "application/octet-stream" as StaticString)
        fields.append("content-length", String(bodyBytes), indexed: false)
        fields.append("user-agent", "apn-relay" as StaticString)
        fields.append("ttl", String(handling.timeToLive))
        fields.append("urgency", handling.urgency.rawValue)
        if let topic = handling.topic { fields.append("topic", topic.text, indexed: false) }
        if PushService(host: endpoint.host) == .microsoft {
            // WNS refuses requests whose policy contradicts the time to live.
            fields.append("x-wns-cache-policy", handling.timeToLive > 0 ? "cache" : "no-cache" as String)
        }
        return fields
    }

    /// The HTTP/1.1 head of a request with these fields.
    static func head(_ fields: HeaderFields) -> [UInt8] {
        var lines = ["POST \(fields.string(":path") ?? "/") HTTP/1.1"]
        lines.append("host: \(fields.string(":authority") ?? "")")
        lines += fields.strings.filter { !$0.name.hasPrefix(":") }.map { "\($0.name): \($0.value)" }
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }
}
