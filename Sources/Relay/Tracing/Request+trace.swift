import HTTPServer
import Instruments

extension Request {
    /// The request's place in the sender's trace: its `traceparent`, if present and valid.
    ///
    /// The relay passes the trace on to no other service, so it doesn't read `tracestate`.
    var traceParent: TraceContext? {
        guard let bytes = headers.bytes(of: "traceparent"), let place = TraceContext(bytes),
            headers.values(of: "traceparent").count == 1
        else { return nil }
        return place
    }
}
