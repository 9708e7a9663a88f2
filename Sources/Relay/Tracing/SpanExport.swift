import Instruments
import JSON
import Network
import Programs
import Storage
import WebClient

/// Sends spans to a collector: OTLP 1.x over HTTP, as JSON.
enum SpanExport {
    /// The collector's response.
    enum Result: Sendable, Equatable {
        /// The collector accepted the spans, except this many.
        case taken(rejected: Int)
        /// The collector will never accept the spans.
        case refused(String)
        /// The collector may accept the spans later; the second value is how long to wait, zero if unspecified.
        case later(String, Duration)
    }

    /// Posts spans.
    static func send(
        _ spans: [Span], _ options: Tracer.Options, within deadline: Duration
    ) async -> Result {
        do throws(WebFailure) {
            return interpret(try await WebClient.send(request(spans, options, within: deadline)))
        } catch {
            return .later(error.description, .zero)
        }
    }

    /// The request that posts spans.
    static func request(
        _ spans: [Span], _ options: Tracer.Options, within deadline: Duration
    ) -> WebRequest {
        var request = WebRequest(url: options.url.text, timeout: deadline)
        request.connectTimeout = min(request.connectTimeout, deadline)
        request.body = body(spans)
        // No proxy may see the spans or the collector's token.
        request.isLocal = true
        request.answerBytesMax = Bounds.spanAnswerBytesMax
        request.headers = options.headers.map {
            "\($0.name): \(String(decoding: $0.value.bytes, as: UTF8.self))"
        }
        return request
    }

    /// The meaning of a response (OTLP specification, "OTLP/HTTP Response").
    static func interpret(_ answer: WebAnswer) -> Result {
        let reason = "the collector answers \(answer.status)"
        switch answer.status {
        case 200..<300:
            let success = (try? JSON.parse(answer.body, maxBytes: Bounds.spanAnswerBytesMax))?[
                "partialSuccess"]
            let rejected = success?["rejectedSpans"]
            return .taken(rejected: rejected?.int ?? rejected?.string.flatMap { Int($0) } ?? 0)
        case 429, 502, 503, 504: return .later(reason, answer.retryAfter)
        default: return .refused(reason)
        }
    }

    // MARK: As JSON

    /// An `ExportTraceServiceRequest`.
    static func body(_ spans: [Span]) -> [UInt8] {
        var writer = JSON.Writer(capacity: 512 * (spans.count + 1))
        writer.beginObject()
        writer.name("resourceSpans")
        writer.beginArray()
        writer.beginObject()
        writer.name("resource")
        writer.beginObject()
        writer.name("attributes")
        writer.beginArray()
        writer.attribute("service.name", "apn-relay")
        writer.attribute("service.version", Version.current)
        writer.endArray()
        writer.endObject()
        writer.name("scopeSpans")
        writer.beginArray()
        writer.beginObject()
        writer.name("scope")
        writer.beginObject()
        writer.member("name", "apn-relay")
        writer.endObject()
        writer.name("spans")
        writer.beginArray()
        for span in spans { writer.span(span) }
        writer.endArray()
        writer.endObject()
        writer.endArray()
        writer.endObject()
        writer.endArray()
        writer.endObject()
        return writer.finish()
    }
}

extension JSON.Writer {
    fileprivate mutating func span(_ span: Span) {
        beginObject()
        member("traceId", span.trace.text)
        member("spanId", span.id.text)
        if let parent = span.parent { member("parentSpanId", parent.text) }
        member("flags", 1)
        member("name", span.name)
        member("kind", span.kind.rawValue)
        member("startTimeUnixNano", String(span.began))
        member("endTimeUnixNano", String(max(span.began, span.ended)))
        name("attributes")
        beginArray()
        for field in span.details { attribute(field) }
        endArray()
        if !span.links.isEmpty {
            name("links")
            beginArray()
            for link in span.links {
                beginObject()
                member("traceId", link.trace.text)
                member("spanId", link.span.text)
                endObject()
            }
            endArray()
        }
        if span.isFailed {
            name("status")
            beginObject()
            member("code", 2)
            endObject()
        }
        endObject()
    }

    fileprivate mutating func attribute(_ key: String, _ value: String) {
        beginObject()
        member("key", key)
        name("value")
        beginObject()
        member("stringValue", value)
        endObject()
        endObject()
    }

    /// Writes a log line's field as an attribute; a name that isn't OpenTelemetry's gets the relay's prefix.
    private mutating func attribute(_ field: LogField) {
        let name = field.key.description
        let key = name == "secret" ? "relay.tenant" : name.contains(".") ? name : "relay." + name
        switch field.value {
        case .text(let text): attribute(key, text)
        case .integer(let number):
            beginObject()
            member("key", key)
            self.name("value")
            beginObject()
            member("intValue", String(number))
            endObject()
            endObject()
        // The span's own times show how long it took.
        case .milliseconds: break
        }
    }
}
