import Testing

@testable import AgentBridge

@Suite("Event streams", .timeLimit(.minutes(2)))
struct EventStreamTests {
    /// Parses a stream that arrives in pieces of a given size.
    private func events(
        _ text: String, piece: Int, parser: inout EventStreamParser
    ) -> [String] {
        var found: [String] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(piece))
            part.withUnsafeBytes { parser.feed($0) { found.append(String(decoding: $0, as: UTF8.self)) } }
            rest = rest.dropFirst(piece)
        }
        return found
    }

    private func events(_ text: String, piece: Int) -> [String] {
        var parser = EventStreamParser()
        return events(text, piece: piece, parser: &parser)
    }

    static let streams: [(String, [String])] = [
        ("data: one\n\ndata: two\n\n", ["one", "two"]),
        ("data: one\r\n\r\ndata: two\r\n\r\n", ["one", "two"]),
        ("data: one\r\rdata: two\r\r", ["one", "two"]),
        ("\u{FEFF}data: one\n\n", ["one"]),
        ("data:one\n\n", ["one"]),
        ("data:  one\n\n", [" one"]),
        ("data: one\ndata: two\n\n", ["one\ntwo"]),
        ("data\n\n", [""]),
        ("data\ndata\n\n", ["\n"]),
        (": heartbeat\n\n", []),
        ("event: message\nid: 7\nretry: 10\ndata: one\n\n", ["one"]),
        ("event: ping\n\n", []),
        ("database: one\n\n", []),
        ("Data: one\n\n", []),
        ("\n\n\n", []),
        ("data: without an end\n", []),
        ("data: one\n\r\n", ["one"]),
    ]

    @Test("each stream is split into its events, whatever the pieces", arguments: streams)
    func split(text: String, expected: [String]) {
        for piece in [1, 2, 3, 5, 1_000] { #expect(events(text, piece: piece) == expected, "\(piece)") }
    }

    @Test("events and lines that are too long are skipped, and the next event is read")
    func bounds() {
        for piece in [1, 7, 1_000] {
            var parser = EventStreamParser(lineBytesMax: 20, frameBytesMax: 24)
            let long = String(repeating: "x", count: 30)
            let stream =
                "data: \(long)\n\ndata: ok\n\ndata: 12345678901\ndata: 12345678901\ndata: 123\n\ndata: end\n\n"
            #expect(events(stream, piece: piece, parser: &parser) == ["ok", "end"])
            #expect(parser.skipped == 2)
        }
    }

    @Test(
        "an agent's output is recognized without parsing",
        arguments: [
            (#"{"directory":"/p","payload":{"id":"e","type":"message.part.updated","properties":{}}}"#, true),
            (#"{"id":"e","type":"session.text.delta","data":{}}"#, true),
            (#"{"payload":{"type":"sync","syncEvent":{}}}"#, true),
            (#"{"id":"e","type":"session.status","properties":{"status":{"type":"idle"}}}"#, false),
            (#"{"id":"e","type":"synced"}"#, false), (#"{"id":"e"}"#, false), (#"{"type":""#, false),
            ("", false),
        ])
    func noise(text: String, expected: Bool) {
        #expect(StreamFrame.isNoise(Array(text.utf8)) == expected)
    }

    @Test("frames that aren't JSON or are malformed are skipped")
    func malformed() {
        for text in ["", "{", "[]", "7", "null", #"{"type":7}"#, #"{"type":"session.status"}"#, "\u{0}"] {
            #expect(StreamFrame.decode(Array(text.utf8), .first) == [])
            #expect(StreamFrame.decode(Array(text.utf8), .second) == [])
        }
    }
}
