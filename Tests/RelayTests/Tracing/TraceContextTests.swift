import Instruments
import Testing

@Suite("W3C trace context", .timeLimit(.minutes(2)))
struct TraceContextTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    @Test(
        "A valid traceparent is read, of a later version as far as it is known",
        arguments: [
            ("00-\(trace)-\(span)-01", true), ("00-\(trace)-\(span)-00", false),
            ("00-\(trace)-\(span)-09", true),
            ("00-\(trace)-\(span)-fe", false), ("cc-\(trace)-\(span)-01", true),
            ("cc-\(trace)-\(span)-01-what-the-future-will-be-like", true),
        ])
    func valid(header: String, isSampled: Bool) throws {
        let place = try #require(TraceContext(header.utf8))
        #expect(place.trace.text == Self.trace && place.span.text == Self.span)
        #expect(place.isSampled == isSampled)
    }

    @Test(
        "An invalid traceparent is none",
        arguments: [
            "", "00", "00-\(trace)-\(span)", "00-\(trace)-\(span)-0", "00-\(trace)-\(span)-01-",
            "00-\(trace)-\(span)-01-more", "00-\(trace)-\(span)-010", "ff-\(trace)-\(span)-01",
            "cc-\(trace)-\(span)-01.more", "0X-\(trace)-\(span)-01", "00-\(trace)-\(span)-0x",
            "00-\(String(repeating: "0", count: 32))-\(span)-01", "00-\(trace)-0000000000000000-01",
            "00-\(trace.uppercased())-\(span)-01", "00-\(trace)-\(span.uppercased())-01",
            "00-\(trace.dropLast())-\(span)-001", "00_\(trace)-\(span)-01", " 00-\(trace)-\(span)-01",
            "00-\(trace)-\(span)é01",
        ])
    func invalid(header: String) {
        #expect(TraceContext(header.utf8) == nil)
    }

    @Test("What is written is read again", arguments: [true, false])
    func roundTrip(isSampled: Bool) throws {
        for _ in 0..<100 {
            let place = TraceContext.random(isSampled: isSampled)
            #expect(place.header.utf8.count == 55)
            #expect(TraceContext(place.header.utf8) == place)
        }
    }

    @Test("A UUID's digits are a trace's, and their last half a span's")
    func uuid() throws {
        let trace = try #require(TraceContext.TraceID(uuid: "019f0000-0000-7000-8000-0000000000ab"))
        #expect(trace.text == "019f000000007000800000000000" + "00ab")
        #expect(trace.spanID?.text == "80000000000000ab" && trace.randomness == 0xAB)
        #expect(TraceContext.TraceID(uuid: "019f0000") == nil)
        #expect(TraceContext.TraceID(uuid: "") == nil)
    }
}
