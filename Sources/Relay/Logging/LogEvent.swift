import APNs
import Instruments
import Storage

/// The severity of a log line.
enum LogLevel: String, CaseIterable, Sendable, Comparable {
    case debug, info, warning, error

    private var rank: Int {
        switch self {
        case .debug: 0
        case .info: 1
        case .warning: 2
        case .error: 3
        }
    }

    static func < (left: LogLevel, right: LogLevel) -> Bool { left.rank < right.rank }
}

/// The format of log lines.
enum LogFormat: String, CaseIterable, Sendable {
    /// Columns for a person.
    case text
    /// One JSON object per line.
    case json
}

/// A log line's content.
struct LogEvent: Sendable {
    /// Milliseconds since 1970.
    let time: EpochMilliseconds
    let level: LogLevel
    /// What happened: one or two words with a dot, such as `request` or `apns.fault`.
    let name: StaticString
    /// The details, in output order.
    let fields: [LogField]
}

/// One detail of a log line.
///
/// The initialiser is private to this file, so only values with a function below can be logged. None of them
/// accepts a secret, a key or a notification's text, or shows a full device token.
struct LogField: Sendable {
    /// A detail's value.
    enum Value: Sendable, Equatable {
        case text(String)
        case integer(Int)
        /// Milliseconds with up to three decimals, from microseconds.
        case milliseconds(microseconds: Int64)
    }

    /// The name in JSON and text output.
    let key: StaticString
    let value: Value

    private init(_ key: StaticString, _ value: Value) {
        self.key = key
        self.value = value
    }
}

extension LogField {
    /// The request's identifier, as in `X-Request-ID`.
    static func requestID(_ id: String) -> LogField { LogField("request_id", .text(id)) }

    /// The ID of the request's trace, as in `traceparent`.
    static func trace(_ id: TraceContext.TraceID) -> LogField { LogField("trace", .text(id.text)) }

    /// The method and the route as in the routing table, never the path that was sent.
    static func route(_ route: RouteName) -> LogField { LogField("route", .text(route.rawValue)) }

    /// The response's HTTP status.
    static func status(_ status: Int) -> LogField { LogField("status", .integer(status)) }

    /// The response's error code.
    static func code(_ code: ErrorCode) -> LogField { LogField("code", .text(code.rawValue)) }

    /// The name of the invalid field, without its value.
    static func field(_ field: RequestField) -> LogField { LogField("field", .text(field.rawValue)) }

    /// The names of fields that have no effect, without their values.
    static func ignored(_ fields: [RequestField]) -> LogField {
        LogField("ignored", .text(fields.map(\.rawValue).joined(separator: " ")))
    }

    /// How long something took.
    static func duration(_ duration: Duration) -> LogField {
        let parts = duration.components
        let microseconds = parts.seconds * 1_000_000 + parts.attoseconds / 1_000_000_000_000
        return LogField("duration_ms", .milliseconds(microseconds: microseconds))
    }

    /// The first twelve characters of the secret's hash.
    static func secretHash(_ hash: SecretHash) -> LogField { LogField("secret", .text(hash.prefix)) }

    /// The last eight characters of a device token.
    static func device(_ token: DeviceToken) -> LogField { LogField("device", .text(token.description)) }

    /// A count, such as `devices`, `sent` or `failed`.
    static func count(_ key: StaticString, _ count: Int) -> LogField { LogField(key, .integer(count)) }

    /// APNs' identifier for a push.
    static func apnsID(_ id: String) -> LogField { LogField("apns_id", .text(id)) }

    /// The reason for a failure, such as APNs' reasons.
    static func reason(_ reason: String) -> LogField { LogField("reason", .text(reason)) }

    /// A storage error's log detail.
    static func storageError(_ error: StorageError) -> LogField { LogField("error", .text(error.logDetail)) }

    /// A non-secret configuration value, or fixed text from the program.
    static func note(_ key: StaticString, _ text: String) -> LogField { LogField(key, .text(text)) }
}
