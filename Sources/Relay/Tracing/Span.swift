import Instruments

/// One step of a trace, with its times.
///
/// Its details are those of log lines, so that it can't have what a log line can't have.
struct Span: Sendable {
    /// The role of the step, with OTLP's number.
    enum Kind: Int, Sendable {
        case inside = 1
        case server
        case client
        case producer
        case consumer
    }

    let trace: TraceContext.TraceID
    let id: TraceContext.SpanID
    /// `nil` if it is the trace's first.
    let parent: TraceContext.SpanID?
    let name: String
    let kind: Kind
    /// Nanoseconds since 1970.
    let began: UInt64
    /// Nanoseconds since 1970.
    let ended: UInt64
    var details: [LogField] = []
    /// Other traces that it led to or follows from.
    var links: [TraceContext] = []
    var isFailed = false
}
