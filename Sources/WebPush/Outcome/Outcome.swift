/// The outcome of a push.
///
/// A refusal is a value, not an error: the caller decides how to react.
package enum Outcome: Hashable, Sendable {
    /// The push service accepted the message (any 2xx status); whether the device got it is never known.
    case accepted
    /// The push service responded with another status.
    case rejected(Rejection)
    /// There is no response.
    case unreachable(Unreachable)
}

/// A push service's response to a refused push.
package struct Rejection: Hashable, Sendable {
    /// What to do about a refusal.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// Try again, after ``Rejection/retryAfter`` if it is set.
        case later
        /// The subscription has ended: remove it, unless it has been registered again since.
        case gone
        /// The subscription was made with another VAPID key: use that key, or have the page subscribe again.
        ///
        /// Keep the subscription: if the settings contain a wrong key, every subscription gets this response.
        case wrongKey
        /// The service doesn't accept the relay's VAPID token or key at all.
        case configuration
        /// The message is too large for this service or device; a smaller one may be accepted.
        case tooLarge
        /// The service doesn't accept this message; it may accept the next one.
        case refused
    }

    /// What to do about the refusal.
    package var kind: Kind
    /// The HTTP status.
    package var status: Int
    /// The push service.
    package var service: PushService
    /// The service's reason, if it is a known one: safe to log and to send.
    package var reason: Reason?
    /// How long to wait before retrying, in seconds.
    package var retryAfter: Int?

    /// Creates a rejection from its parts.
    package init(
        kind: Kind, status: Int, service: PushService, reason: Reason? = nil, retryAfter: Int? = nil
    ) {
        self.kind = kind
        self.status = status
        self.service = service
        self.reason = reason
        self.retryAfter = retryAfter
    }

    /// The reason, or the status if there is none; safe to log and to send.
    package var name: String { reason?.rawValue ?? "Status \(status)" }
}

/// A push without a response.
package struct Unreachable: Hashable, Sendable {
    /// Whether the service may have processed the push.
    package var processed: Processed
    /// Why there is no response.
    package var cause: Cause

    /// Creates the outcome of a push without a response.
    package init(processed: Processed, cause: Cause) {
        self.processed = processed
        self.cause = cause
    }

    /// Whether the push service may have processed the push.
    package enum Processed: Hashable, Sendable {
        /// It was never sent: a retry can't deliver it twice.
        case notSent
        /// It was sent and may have been delivered.
        case unknown
    }

    /// Why a push got no response; the raw value appears in logs and responses.
    package enum Cause: String, Hashable, Sendable, CaseIterable {
        case nameNotResolved = "NameNotResolved"
        case connectFailed = "ConnectFailed"
        case connectTimeout = "ConnectTimeout"
        case tlsFailed = "TLSFailed"
        case proxyFailed = "ProxyFailed"
        case connectionClosed = "ConnectionClosed"
        case protocolError = "ProtocolError"
        case timeout = "Timeout"
        case queueFull = "QueueFull"
        case shuttingDown = "ShuttingDown"
        /// The relay's host rule doesn't allow the endpoint's host.
        case hostNotAllowed = "HostNotAllowed"
        /// The host's name resolved to an address that isn't public.
        case addressNotPublic = "AddressNotPublic"
        /// The message could not be encrypted, or its token could not be signed.
        case notEncrypted = "NotEncrypted"

        /// Whether connecting to the host failed.
        package var isConnecting: Bool {
            switch self {
            case .nameNotResolved, .connectFailed, .connectTimeout, .tlsFailed, .proxyFailed,
                .addressNotPublic:
                true
            case .connectionClosed, .protocolError, .timeout, .queueFull, .shuttingDown, .hostNotAllowed,
                .notEncrypted:
                false
            }
        }

        /// Whether another attempt may succeed.
        package var isTemporary: Bool {
            switch self {
            case .hostNotAllowed, .addressNotPublic, .notEncrypted: false
            case .nameNotResolved, .connectFailed, .connectTimeout, .tlsFailed, .proxyFailed,
                .connectionClosed,
                .protocolError, .timeout, .queueFull, .shuttingDown:
                true
            }
        }
    }
}
