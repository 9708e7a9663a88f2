/// Every error of the API: its stable code, status and sentence.
///
/// Tests compare docs/reference/api.md and docs/reference/openapi.yaml with this table.
enum ErrorCode: String, CaseIterable, Sendable {
    case invalidRequest = "invalid_request"
    case invalidBody = "invalid_body"
    case invalidField = "invalid_field"
    case missingField = "missing_field"
    case unknownBundle = "unknown_bundle"
    case weakSecret = "weak_secret"
    case deviceRefused = "device_refused"
    case unauthorized
    case invalidToken = "invalid_token"
    case forbidden
    case challengeFailed = "challenge_failed"
    case blocked
    case historyOff = "history_off"
    case webPushOff = "webpush_off"
    case notFound = "not_found"
    case unknownEvent = "unknown_event"
    case methodNotAllowed = "method_not_allowed"
    case requestTimeout = "request_timeout"
    case deviceLimit = "device_limit"
    case unknownDevice = "unknown_device"
    case eventConflict = "event_conflict"
    case alreadyReplied = "already_replied"
    case noDevices = "no_devices"
    case scheduleLimit = "schedule_limit"
    case tokenLimit = "token_limit"
    case bodyTooLarge = "body_too_large"
    case payloadTooLarge = "payload_too_large"
    case uriTooLong = "uri_too_long"
    case unsupportedEncoding = "unsupported_encoding"
    case expectationFailed = "expectation_failed"
    case rateLimited = "rate_limited"
    case headersTooLarge = "headers_too_large"
    case internalError = "internal"
    case notImplemented = "not_implemented"
    case storageUnavailable = "storage_unavailable"
    case overloaded = "overloaded"
    case apnsUnavailable = "apns_unavailable"
    case relayFull = "relay_full"
    case shuttingDown = "shutting_down"
    case notReady = "not_ready"
    case versionNotSupported = "version_not_supported"

    /// The code's HTTP status.
    var status: Int { entry.status }

    /// The sentence for users.
    ///
    /// Errors about a field append the field's rule.
    var sentence: String { entry.sentence }

    /// Whether the log summarises responses with this code after the first few lines (``RefusalTally``).
    ///
    /// Anyone can cause any number of them, even `storage_unavailable` while the database is down. `internal` is a
    /// defect, so each one gets its own line.
    var isSummarised: Bool { self != .internalError }

    /// Seconds until a retry, sent in `Retry-After`; `nil` for none.
    ///
    /// For `rate_limited`, it is computed per request.
    var retryAfterSeconds: Int? { entry.retryAfter }

    private struct Entry {
        let status: Int
        let sentence: String
        var retryAfter: Int?

        init(_ status: Int, _ sentence: String, retryAfter: Int? = nil) {
            self.status = status
            self.sentence = sentence
            self.retryAfter = retryAfter
        }
    }

    private var entry: Entry {
        switch self {
        case .invalidRequest: Entry(400, "The request is not valid HTTP.")
        case .invalidBody: Entry(400, "The body is not a JSON object.")
        case .invalidField: Entry(400, "A field is not valid.")
        case .missingField: Entry(400, "A field is missing.")
        case .unknownBundle: Entry(400, "This relay does not push to this app.")
        case .weakSecret: Entry(400, "The secret is too short.")
        case .deviceRefused: Entry(400, "The push service does not accept the device.")
        case .unauthorized: Entry(401, "The registration key is missing or wrong.")
        case .invalidToken: Entry(401, "The access token does not exist, has expired or was revoked.")
        case .forbidden: Entry(403, "The access token does not allow this.")
        case .challengeFailed: Entry(403, "The challenge code is wrong or has expired.")
        case .blocked: Entry(403, "This relay's operator has blocked the secret.")
        case .historyOff: Entry(403, "This relay keeps no history.")
        case .webPushOff: Entry(403, "This relay does not send by Web Push.")
        case .notFound: Entry(404, "This path does not exist.")
        case .unknownEvent: Entry(404, "No event with this eventID was sent within the last 24 hours.")
        case .methodNotAllowed: Entry(405, "This path does not support this method.")
        case .requestTimeout: Entry(408, "The request took too long to arrive.")
        case .deviceLimit: Entry(409, "Too many devices are registered under this secret.")
        case .unknownDevice: Entry(409, "No such device is registered under this secret.")
        case .eventConflict: Entry(409, "An earlier event with the same eventID had different content.")
        case .alreadyReplied: Entry(409, "The event already has a different reply.")
        case .noDevices: Entry(409, "No devices are registered under this secret.")
        case .scheduleLimit: Entry(409, "This secret has too many schedules.")
        case .tokenLimit: Entry(409, "This secret has too many access tokens.")
        case .bodyTooLarge: Entry(413, "The body is too large.")
        case .payloadTooLarge: Entry(413, "The notification is too large for APNs.")
        case .uriTooLong: Entry(414, "The request line is too long.")
        case .unsupportedEncoding: Entry(415, "The body is compressed.")
        case .expectationFailed: Entry(417, "The only supported expectation is 100-continue.")
        case .rateLimited: Entry(429, "Too many requests.")
        case .headersTooLarge: Entry(431, "The headers are too large.")
        case .internalError: Entry(500, "Internal server error.")
        case .notImplemented: Entry(501, "The request uses a feature that this server does not support.")
        case .storageUnavailable: Entry(503, "The database is unavailable.", retryAfter: 5)
        case .overloaded: Entry(503, "The relay is overloaded.", retryAfter: 1)
        case .apnsUnavailable: Entry(503, "APNs is unavailable.", retryAfter: 5)
        case .relayFull: Entry(503, "This relay accepts no new devices.", retryAfter: 600)
        case .shuttingDown: Entry(503, "The relay is shutting down.", retryAfter: 1)
        case .notReady: Entry(503, "The relay is not ready.", retryAfter: 5)
        case .versionNotSupported: Entry(505, "The supported HTTP versions are 1.0 and 1.1.")
        }
    }
}

/// A route's error response.
struct APIError: Error, Sendable, Equatable {
    let code: ErrorCode
    /// The invalid field.
    var field: RequestField?
    /// An additional sentence for the caller.
    var hint: String?
    /// Details for the log, never for the caller.
    var logDetail: String?
    /// The limit that was reached, for the metrics.
    var limit: LimitKind?
    /// Seconds until a retry; `nil` for the code's default.
    var retryAfterSeconds: Int?

    init(
        _ code: ErrorCode, field: RequestField? = nil, hint: String? = nil, retryAfterSeconds: Int? = nil,
        logDetail: String? = nil, limit: LimitKind? = nil
    ) {
        self.code = code
        self.retryAfterSeconds = retryAfterSeconds
        self.field = field
        self.hint = hint
        self.logDetail = logDetail
        self.limit = limit
    }

    /// The text for the caller: the code's sentence, followed by the hint or the field's rule.
    var sentence: String {
        if let hint { return "\(code.sentence) \(hint)" }
        switch (code, field) {
        case (.invalidField, let field?), (.missingField, let field?):
            return "\(code.sentence) \(field.rawValue) must be \(field.rule)."
        default:
            return code.sentence
        }
    }
}
