import Delays

/// Limits for traces.
extension Bounds {
    /// Maximum traces exported per second.
    static let tracesPerSecondMax = 100
    /// Maximum spans per request before its response; further ones are dropped and counted.
    static let spansPerTraceMax = 128
    /// Maximum spans waiting to be exported; further ones are dropped and counted.
    static let spansWaitingMax = 4_096
    /// Maximum spans in one export.
    static let spansPerExportMax = 512
    /// How long spans are collected for one export.
    static let spanGatherTime: Duration = .seconds(1)
    /// The time limit for an export.
    static let spanExportDeadline: Duration = .seconds(10)
    /// The time limit for the last export, when the relay stops.
    static let spanLastExportDeadline: Duration = .seconds(2)
    /// Maximum attempts to export a batch of spans before it is dropped.
    static let spanExportAttemptsMax = 5
    /// The delays between attempts to export a batch of spans.
    static let spanBackOff = BackOff(from: .seconds(1), to: .seconds(8))
    /// The longest wait that a collector can ask for.
    static let spanRetryAfterMax: Duration = .seconds(60)
    /// How often the log reports that a collector didn't accept spans.
    static let spansDroppedInterval: Duration = .seconds(60)
    /// Maximum size of a collector's response, in bytes.
    static let spanAnswerBytesMax = 64 * 1024
}
