import HTTPServer
import Instruments

extension Request {
    /// The place in the sender's trace: its `traceparent`, if it has one and it is valid.
    ///
    /// The relay calls nobody who should know the trace, so it doesn't read `tracestate`.
    var traceParent: TraceContext? {
        guard let bytes = headers.bytes(of: "traceparent"), let place = TraceContext(bytes),
            headers.values(of: "traceparent").count == 1
        else { return nil }
        return place
    }
}
