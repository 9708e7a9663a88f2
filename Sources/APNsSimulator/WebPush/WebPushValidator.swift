import Cryptography
package import HTTPServer

/// A Web Push with valid headers, to a subscription that exists or existed.
package struct CheckedWebPush: Sendable {
    package let subscription: WebPushSubscription
    /// `TTL` in seconds.
    package let timeToLive: Int
    /// The public key whose owner signed the token.
    package let senderKey: [UInt8]
}

/// Validates Web Push requests against RFCs 8030, 8188, 8291 and 8292 and the vendors' own rules.
///
/// A pure value, independent of the relay's sender. A request with several errors is refused for the first one in this
/// order: endpoint, method, repeated headers, TTL, urgency, topic, content encoding, size, token, key.
package struct WebPushValidator: Sendable {
    /// The longest `Topic` in characters (RFC 8030, section 5.4).
    package static let topicCountMax = 32
    /// The largest `TTL` in seconds (RFC 9111, section 1.2.2).
    package static let timeToLiveMax = Int(Int32.max)

    /// The fields that may be sent only once.
    private static let fields = [
        "ttl", "urgency", "topic", "content-encoding", "authorization", "x-wns-cache-policy",
    ]
    private static let urgencies = ["very-low", "low", "normal", "high"]

    /// The origin of endpoints that don't have their own.
    package let origin: String

    /// A validator for endpoints of an origin.
    package init(origin: String) { self.origin = origin }

    /// Validates one request.
    ///
    /// - Parameters:
    ///   - subscription: The subscription with the request's target.
    ///   - now: Seconds since 1970.
    package func check(
        _ request: Request, to subscription: WebPushSubscription?, now: Int64
    ) throws(WebPushRefusal) -> CheckedWebPush {
        guard let subscription else {
            throw WebPushRefusal(.unknownEndpoint, "no subscription has this endpoint")
        }
        guard request.method == .post else { throw WebPushRefusal(.method, "the method must be POST") }
        if let name = Self.fields.first(where: { request.headers.values(of: $0).count > 1 }) {
            throw WebPushRefusal(.request, "`\(name)` was sent more than once")
        }
        let timeToLive = try checkTimeToLive(request.headers["ttl"])
        if let urgency = request.headers["urgency"], !Self.urgencies.contains(urgency) {
            throw WebPushRefusal(.urgency, "`Urgency` must be very-low, low, normal or high")
        }
        if let topic = request.headers["topic"] { try checkTopic(topic, subscription.vendor) }
        if subscription.vendor == .microsoft {
            try checkCachePolicy(request.headers["x-wns-cache-policy"], timeToLive)
        }
        try checkBody(request, to: subscription)
        let token = try VAPIDAuthorization(request.headers["authorization"])
        try token.check(for: subscription.origin ?? origin, by: subscription.vendor, now: now)
        guard subscription.senderKey == nil || subscription.senderKey == token.publicKey else {
            throw WebPushRefusal(.keyMismatch, "the subscription was made with another key than `k`")
        }
        return CheckedWebPush(
            subscription: subscription, timeToLive: timeToLive, senderKey: token.publicKey)
    }

    private func checkTimeToLive(_ text: String?) throws(WebPushRefusal) -> Int {
        guard let text else { throw WebPushRefusal(.missingTimeToLive, "no `TTL` header") }
        guard text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let seconds = Int(text),
            seconds <= Self.timeToLiveMax
        else { throw WebPushRefusal(.timeToLive, "`TTL` must be a whole number of seconds") }
        return seconds
    }

    private func checkTopic(_ topic: String, _ vendor: WebPushVendor) throws(WebPushRefusal) {
        guard (1...Self.topicCountMax).contains(topic.utf8.count), topic.utf8.allSatisfy(isBase64URL) else {
            throw WebPushRefusal(
                .topic, "`Topic` must have 1 to \(Self.topicCountMax) characters of base64url")
        }
        // Apple decodes the topic.
        guard vendor != .apple || topic.utf8.count % 4 != 1 else {
            throw WebPushRefusal(.topic, "`Topic` has a length that base64 can't have")
        }
    }

    private func checkCachePolicy(_ policy: String?, _ timeToLive: Int) throws(WebPushRefusal) {
        let expected = timeToLive > 0 ? "cache" : "no-cache"
        guard policy == expected else {
            throw WebPushRefusal(
                .cachePolicy, "`X-WNS-Cache-Policy` must be \(expected) with `TTL` \(timeToLive)")
        }
    }

    /// An empty body needs no coding; the event in the browser then has no data.
    private func checkBody(
        _ request: Request, to subscription: WebPushSubscription
    ) throws(WebPushRefusal) {
        guard request.body.isEmpty || request.headers["content-encoding"] == "aes128gcm" else {
            throw WebPushRefusal(.contentEncoding, "`Content-Encoding` must be aes128gcm")
        }
        if let name = ["crypto-key", "encryption"].first(where: { request.headers[$0] != nil }) {
            throw WebPushRefusal(.contentEncoding, "`\(name)` belongs to an older coding than aes128gcm")
        }
        guard request.body.count <= subscription.bodyBytesMax else {
            throw WebPushRefusal(
                .tooLarge, "the body has \(request.body.count) bytes, over \(subscription.bodyBytesMax)")
        }
    }

    private func isBase64URL(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
