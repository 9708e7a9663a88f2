/// An answer given by a rule.
package struct ScriptedAnswer: Hashable, Sendable {
    /// The body of the answer.
    package enum Body: Hashable, Sendable {
        /// `{"reason": …}`, as APNs sends it, or the form of the Web Push service.
        case reason
        case none
        /// Anything else, such as a proxy's error page.
        case text(String)
    }

    package var status: Int
    package var reason: String?
    /// Milliseconds since 1970.
    package var timestamp: Int64?
    /// Seconds, for a `retry-after` header.
    package var retryAfter: Int?
    package var body: Body

    /// Creates an answer.
    package init(
        status: Int, reason: String?, timestamp: Int64? = nil, retryAfter: Int? = nil, body: Body = .reason
    ) {
        self.status = status
        self.reason = reason
        self.timestamp = timestamp
        self.retryAfter = retryAfter
        self.body = body
    }

    /// APNs' answer to a refused push.
    package init(_ refusal: PushRefusal) {
        self.init(
            status: refusal.reason.status, reason: refusal.reason.rawValue, timestamp: refusal.timestamp)
    }

    /// A vendor's answer to a refused Web Push.
    package init(_ refusal: WebPushRefusal, by vendor: WebPushVendor) {
        let (status, reason) = vendor.answer(to: refusal.fault)
        self.init(status: status, reason: reason)
    }

    /// APNs' answer to an accepted push.
    package static let accepted = ScriptedAnswer(status: 200, reason: nil)
}
