public import PushSealing

/// Why a request to the relay failed.
public enum RelayError: Error, Sendable, Equatable {
    /// The connection failed or was lost; carries the system's description.
    case unreachable(String)
    /// The relay didn't respond in time.
    case timedOut
    /// The task was cancelled.
    case cancelled
    /// The relay refused the request.
    case rejected(Rejection)
    /// The response isn't from a relay, or is from a broken one; carries the HTTP status.
    case unexpectedAnswer(status: Int)
    /// The message can't be sealed.
    case unsealable(SealingFailure)
    /// The pairing has no key, so nothing can be sealed for it.
    case noKey

    /// Whether the relay itself refused the request for good: the request has no effect, now or later.
    var isFinal: Bool {
        guard case .rejected(let rejection) = self else { return false }
        return (400..<500).contains(rejection.status) && ![408, 429].contains(rejection.status)
    }
}

/// A relay's error response.
public struct Rejection: Sendable, Equatable {
    /// The HTTP status.
    public let status: Int
    /// What is wrong, for programs.
    public let code: Code
    /// What is wrong, for people; the text may change from version to version.
    public let sentence: String
    /// The invalid field, if there is one.
    public let field: String?
    /// How long to wait before trying again, in seconds; present in responses with status 429 or 503.
    public let retryAfter: Int?

    /// An error code of the relay; an unknown one comes from a newer relay.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The code as the relay writes it.
        public let rawValue: String

        /// Creates a code from the relay's text.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The body isn't a JSON object.
        public static let invalidBody = Code(rawValue: "invalid_body")
        /// A field isn't valid.
        public static let invalidField = Code(rawValue: "invalid_field")
        /// A field is missing.
        public static let missingField = Code(rawValue: "missing_field")
        /// The relay doesn't push to this app.
        public static let unknownBundle = Code(rawValue: "unknown_bundle")
        /// The secret is too short.
        public static let weakSecret = Code(rawValue: "weak_secret")
        /// APNs doesn't accept the device token.
        public static let deviceRefused = Code(rawValue: "device_refused")
        /// The registration key is missing or wrong.
        public static let unauthorized = Code(rawValue: "unauthorized")
        /// The challenge code is wrong or has expired.
        public static let challengeFailed = Code(rawValue: "challenge_failed")
        /// The relay's operator has blocked the secret.
        public static let blocked = Code(rawValue: "blocked")
        /// The relay keeps no history.
        public static let historyOff = Code(rawValue: "history_off")
        /// The relay doesn't have this route: it is older than this library.
        public static let notFound = Code(rawValue: "not_found")
        /// Too many devices are registered under this secret.
        public static let deviceLimit = Code(rawValue: "device_limit")
        /// An earlier event with the same ID had different content.
        public static let eventConflict = Code(rawValue: "event_conflict")
        /// The event is unknown, or was removed after 24 hours.
        public static let unknownEvent = Code(rawValue: "unknown_event")
        /// No such device is registered under the activity's secret.
        public static let unknownDevice = Code(rawValue: "unknown_device")
        /// Another reply to the event came first.
        public static let alreadyReplied = Code(rawValue: "already_replied")
        /// No device is registered under the secret.
        public static let noDevices = Code(rawValue: "no_devices")
        /// The secret has too many schedules.
        public static let scheduleLimit = Code(rawValue: "schedule_limit")
        /// The notification is too large for APNs.
        public static let payloadTooLarge = Code(rawValue: "payload_too_large")
        /// Too many requests.
        public static let rateLimited = Code(rawValue: "rate_limited")
        /// The relay failed.
        public static let internalError = Code(rawValue: "internal")
        /// The relay's database is unavailable.
        public static let storageUnavailable = Code(rawValue: "storage_unavailable")
        /// The relay is overloaded.
        public static let overloaded = Code(rawValue: "overloaded")
        /// APNs is unavailable.
        public static let apnsUnavailable = Code(rawValue: "apns_unavailable")
        /// The relay accepts no new devices.
        public static let relayFull = Code(rawValue: "relay_full")
    }
}
