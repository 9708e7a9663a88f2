/// What a push came to.
///
/// A refusal is a value, not an error: the caller decides what follows.
package enum Outcome: Hashable, Sendable {
    /// APNs took the push (status 200).
    ///
    /// - `apnsID`: the push's `apns-id`.
    /// - `uniqueID`: `apns-unique-id`, for Apple's Push Notifications Console; only the sandbox sends one.
    case accepted(apnsID: String, uniqueID: String?)
    /// APNs answered, and not with 200.
    case rejected(Rejection)
    /// There is no answer.
    case unreachable(Unreachable)
}

/// APNs' answer to a push that it did not take.
package struct Rejection: Hashable, Sendable {
    /// The HTTP status; it counts even where the body is missing or isn't JSON.
    package var status: Int
    /// Why, in APNs' word; `nil` where the body has none that can be used.
    package var reason: Reason?
    /// Since when the token has not been valid for the topic, in milliseconds since 1970; comes with status 410 only.
    package var timestamp: Int64?
    /// How long to wait before the next attempt, in seconds, from `Retry-After`.
    package var retryAfter: Int?

    /// A rejection of its parts.
    package init(status: Int, reason: Reason?, timestamp: Int64? = nil, retryAfter: Int? = nil) {
        self.status = status
        self.reason = reason
        self.timestamp = timestamp
        self.retryAfter = retryAfter
    }

    /// The reason's word, or the status where there is none; safe to log and to send.
    package var name: String { reason?.rawValue ?? "Status \(status)" }
}

/// A push that has no answer.
package struct Unreachable: Hashable, Sendable {
    /// Whether APNs may have the push.
    package var processed: Processed
    /// What was in the way.
    package var cause: Cause
    /// More for the log, without tokens, payloads or keys; empty where the cause says it all.
    package var detail: String

    /// A push without an answer.
    package init(processed: Processed, cause: Cause, detail: String = "") {
        self.processed = processed
        self.cause = cause
        self.detail = detail
    }

    /// Whether APNs may have the push.
    package enum Processed: Hashable, Sendable {
        /// It was never sent, or APNs said that it did not process it: sending it again can't deliver it twice.
        case notSent
        /// It was sent and may have been delivered; the same `apns-id` tells APNs that it is the same push.
        case unknown
    }

    /// What stood between a push and its answer; the raw value is what logs and answers show.
    package enum Cause: String, Hashable, Sendable, CaseIterable {
        case nameNotResolved = "NameNotResolved"
        case connectFailed = "ConnectFailed"
        case connectTimeout = "ConnectTimeout"
        case tlsFailed = "TLSFailed"
        case http2NotOffered = "HTTP2NotOffered"
        case connectionClosed = "ConnectionClosed"
        case goneAway = "GoneAway"
        /// Connections stand, and the server allows no stream on them.
        case noStreams = "NoStreams"
        case streamRefused = "StreamRefused"
        case streamReset = "StreamReset"
        case protocolError = "ProtocolError"
        case timeout = "Timeout"
        case queueFull = "QueueFull"
        case shuttingDown = "ShuttingDown"
        case noProviderToken = "NoProviderToken"
    }
}
