/// The header fields of a request for message delivery (RFC 8030, section 5).
enum RequestHeaders {
    /// The fields, each as `name: value`.
    static func fields(for handling: Handling, authorization: String, service: PushService) -> [String] {
        var fields = [
            "TTL: \(handling.timeToLive)", "Urgency: \(handling.urgency.rawValue)",
            "Content-Encoding: aes128gcm", "Content-Type: application/octet-stream",
            "Authorization: \(authorization)",
        ]
        if let topic = handling.topic { fields.append("Topic: \(topic.text)") }
        if service == .microsoft {
            // WNS refuses requests whose policy contradicts the time to live.
            fields.append("X-WNS-Cache-Policy: \(handling.timeToLive > 0 ? "cache" : "no-cache")")
        }
        return fields
    }
}
