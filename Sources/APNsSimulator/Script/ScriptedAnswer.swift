/// A response to a push, from a rule or by default.
package struct ScriptedAnswer: Hashable, Sendable {
    /// The body of the response.
    package enum Body: Hashable, Sendable {
        /// `{"reason": …}`, as APNs sends it, or the Web Push service's equivalent.
        case reason
        case none
        /// Anything else, such as a proxy's error page.
        case text(String)
    }

    package var status: Int
    package var reason: String?
    /// The time in a 410 response, in milliseconds since 1970.
    package var timestamp: Int64?
    /// The `retry-after` header, in seconds.
    package var retryAfter: Int?
    package var body: Body

    /// Creates a response.
    package init(
        status: Int, reason: String?, timestamp: Int64? = nil, retryAfter: Int? = nil, body: Body = .reason
    ) {
        self.status = status
        self.reason = reason
        self.timestamp = timestamp
        self.retryAfter = retryAfter
        self.body = body
    }

    /// APNs' response to a refused push.
    package init(_ refusal: PushRefusal) {
        self.init(
            status: refusal.reason.status, reason: refusal.reason.rawValue, timestamp: refusal.timestamp)
    }

    /// A vendor's response to a refused Web Push.
    package init(_ refusal: WebPushRefusal, by vendor: WebPushVendor) {
        let (status, reason) = vendor.answer(to: refusal.fault)
        self.init(status: status, reason: reason)
    }

    /// APNs' response to an accepted push.
    package static let accepted = ScriptedAnswer(status: 200, reason: nil)
}
