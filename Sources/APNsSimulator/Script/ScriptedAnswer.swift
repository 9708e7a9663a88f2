/// An answer that a rule gives.
package struct ScriptedAnswer: Hashable, Sendable {
    /// What the answer's body is.
    package enum Body: Hashable, Sendable {
        /// `{"reason": …}`, as APNs sends it.
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

    /// An answer.
    package init(
        status: Int, reason: String?, timestamp: Int64? = nil, retryAfter: Int? = nil, body: Body = .reason
    ) {
        self.status = status
        self.reason = reason
        self.timestamp = timestamp
        self.retryAfter = retryAfter
        self.body = body
    }

    /// The answer that APNs gives to a push it refuses.
    package init(_ refusal: Refusal) {
        self.init(
            status: refusal.reason.status, reason: refusal.reason.rawValue, timestamp: refusal.timestamp)
    }

    /// The answer that APNs gives to a push it takes.
    package static let accepted = ScriptedAnswer(status: 200, reason: nil)
}
