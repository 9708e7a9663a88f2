/// The outcome of a push.
///
/// A refusal is a value, not an error: the caller decides how to react.
package enum Outcome: Hashable, Sendable {
    /// APNs accepted the push (status 200).
    ///
    /// - `apnsID`: The push's `apns-id`.
    /// - `uniqueID`: The `apns-unique-id` for Apple's Push Notifications Console; only from the sandbox.
    case accepted(apnsID: String, uniqueID: String?)
    /// APNs responded with another status.
    case rejected(Rejection)
    /// There is no response.
    case unreachable(Unreachable)
}

/// APNs' response to a refused push.
package struct Rejection: Hashable, Sendable {
    /// The HTTP status, valid even if the body is missing or isn't JSON.
    package var status: Int
    /// APNs' reason; `nil` if the body contains no usable one.
    package var reason: Reason?
    /// When APNs found the token invalid for the topic, in milliseconds since 1970; only with status 410.
    package var timestamp: Int64?
    /// How long to wait before retrying, in seconds, from `Retry-After`.
    package var retryAfter: Int?

    /// Creates a rejection from its parts.
    package init(status: Int, reason: Reason?, timestamp: Int64? = nil, retryAfter: Int? = nil) {
        self.status = status
        self.reason = reason
        self.timestamp = timestamp
        self.retryAfter = retryAfter
    }

    /// The reason, or the status if there is none; safe to log and to send.
    package var name: String { reason?.rawValue ?? "Status \(status)" }
}

/// A push without a response.
package struct Unreachable: Hashable, Sendable {
    /// Whether APNs may have processed the push.
    package var processed: Processed
    /// Why there is no response.
    package var cause: Cause
    /// Details for the log, without tokens, payloads or keys; may be empty.
    package var detail: String

    /// Creates the outcome of a push without a response.
    package init(processed: Processed, cause: Cause, detail: String = "") {
        self.processed = processed
        self.cause = cause
        self.detail = detail
    }

    /// Whether APNs may have processed the push.
    package enum Processed: Hashable, Sendable {
        /// It was never sent, or APNs did not process it: a retry can't deliver it twice.
        case notSent
        /// It was sent and may have been delivered; a retry with the same `apns-id` identifies the same push.
        case unknown
    }

    /// Why a push got no response; the raw value appears in logs and responses.
    package enum Cause: String, Hashable, Sendable, CaseIterable {
        case nameNotResolved = "NameNotResolved"
        case connectFailed = "ConnectFailed"
        case connectTimeout = "ConnectTimeout"
        case tlsFailed = "TLSFailed"
        case http2NotOffered = "HTTP2NotOffered"
        case connectionClosed = "ConnectionClosed"
        case goneAway = "GoneAway"
        /// Connections are open, but the server allows no streams on them.
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
