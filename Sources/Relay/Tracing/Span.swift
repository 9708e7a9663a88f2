import Instruments

/// One step of a trace, with its times.
///
/// Its details are log fields, so a span can't contain anything that a log line can't.
struct Span: Sendable {
    /// The role of the step, with its number in OTLP.
    enum Kind: Int, Sendable {
        case inside = 1
        case server
        case client
        case producer
        case consumer
    }

    let trace: TraceContext.TraceID
    let id: TraceContext.SpanID
    /// The parent span; `nil` if this is the trace's first.
    let parent: TraceContext.SpanID?
    let name: String
    let kind: Kind
    /// The beginning, in nanoseconds since 1970.
    let began: UInt64
    /// The end, in nanoseconds since 1970.
    let ended: UInt64
    var details: [LogField] = []
    /// Other traces that the step led to or follows from.
    var links: [TraceContext] = []
    var isFailed = false
}
