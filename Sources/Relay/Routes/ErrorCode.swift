/// Every error that the API answers with: its stable code, its status and its sentence.
///
/// docs/API.md and docs/openapi.yaml are held to this table by tests.
enum ErrorCode: String, CaseIterable, Sendable {
    case invalidRequest = "invalid_request"
    case invalidBody = "invalid_body"
    case invalidField = "invalid_field"
    case missingField = "missing_field"
    case unknownBundle = "unknown_bundle"
    case weakSecret = "weak_secret"
    case notFound = "not_found"
    case methodNotAllowed = "method_not_allowed"
    case requestTimeout = "request_timeout"
    case deviceLimit = "device_limit"
    case eventConflict = "event_conflict"
    case bodyTooLarge = "body_too_large"
    case payloadTooLarge = "payload_too_large"
    case uriTooLong = "uri_too_long"
    case expectationFailed = "expectation_failed"
    case rateLimited = "rate_limited"
    case headersTooLarge = "headers_too_large"
    case internalError = "internal"
    case notImplemented = "not_implemented"
    case storageUnavailable = "storage_unavailable"
    case overloaded = "overloaded"
    case shuttingDown = "shutting_down"
    case notReady = "not_ready"
    case versionNotSupported = "version_not_supported"

    /// The HTTP status that the code always comes with.
    var status: Int { entry.status }

    /// The sentence for a person.
    ///
    /// Answers about a field continue it with what the field must be.
    var sentence: String { entry.sentence }

    /// Whether the relay refused the request, rather than failed at it.
    ///
    /// Refusals are what anybody can cause as often as they like, so their log lines are bounded.
    var isRefusal: Bool { self != .internalError && self != .storageUnavailable }

    /// Seconds after which a caller may try again, for the answers that say so in `Retry-After`.
    ///
    /// `rate_limited` says so too, but each time it is another number.
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
        case .notFound: Entry(404, "There is nothing at this path.")
        case .methodNotAllowed: Entry(405, "This path does not have this method.")
        case .requestTimeout: Entry(408, "The request took too long to arrive.")
        case .deviceLimit: Entry(409, "Too many devices are registered under this secret.")
        case .eventConflict: Entry(409, "Another event with the same eventID came before.")
        case .bodyTooLarge: Entry(413, "The body is too large.")
        case .payloadTooLarge: Entry(413, "The notification is too large for APNs.")
        case .uriTooLong: Entry(414, "The request line is too long.")
        case .expectationFailed: Entry(417, "Only the expectation 100-continue is known.")
        case .rateLimited: Entry(429, "Too many requests.")
        case .headersTooLarge: Entry(431, "The headers are too large.")
        case .internalError: Entry(500, "The relay failed.")
        case .notImplemented: Entry(501, "The request asks for something that this server does not do.")
        case .storageUnavailable: Entry(503, "The database is unavailable.", retryAfter: 5)
        case .overloaded: Entry(503, "The relay has too much to do.", retryAfter: 1)
        case .shuttingDown: Entry(503, "The relay is shutting down.", retryAfter: 1)
        case .notReady: Entry(503, "The relay is not ready.", retryAfter: 5)
        case .versionNotSupported: Entry(505, "Only HTTP/1.1 and HTTP/1.0 are spoken here.")
        }
    }
}

/// A refusal of a request by a route.
struct APIError: Error, Sendable, Equatable {
    let code: ErrorCode
    /// The field at fault.
    var field: RequestField?
    /// A sentence more for the caller.
    var hint: String?
    /// More about it for the log, never for the caller.
    var logDetail: String?
    /// The limit that refused it, to be counted.
    var limit: LimitKind?
    /// Seconds after which the caller may try again; `nil` for the code's own.
    var retryAfterSeconds: Int?

    /// A refusal.
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

    /// What the caller reads: the code's sentence, and what the field must be or the hint.
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
