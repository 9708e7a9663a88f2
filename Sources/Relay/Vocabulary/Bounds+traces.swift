import Delays

/// Limits of traces.
extension Bounds {
    /// Maximum traces per second that are exported.
    static let tracesPerSecondMax = 100
    /// Maximum spans of a request before its response; further ones are dropped and counted.
    static let spansPerTraceMax = 128
    /// Maximum spans waiting for their export; further ones are dropped and counted.
    static let spansWaitingMax = 4_096
    /// Maximum spans in one export.
    static let spansPerExportMax = 512
    /// How long spans are collected for one export.
    static let spanGatherTime: Duration = .seconds(1)
    /// The time limit of an export.
    static let spanExportDeadline: Duration = .seconds(10)
    /// The time limit of the last export, when the relay stops.
    static let spanLastExportDeadline: Duration = .seconds(2)
    /// Attempts to export a batch of spans; then it is dropped.
    static let spanExportAttemptsMax = 5
    /// The delays between them.
    static let spanBackOff = BackOff(from: .seconds(1), to: .seconds(8))
    /// The longest wait that a collector can ask for.
    static let spanRetryAfterMax: Duration = .seconds(60)
    /// How often the log says that a collector didn't take spans.
    static let spansDroppedInterval: Duration = .seconds(60)
    /// Maximum size of a collector's response.
    static let spanAnswerBytesMax = 64 * 1024
}
