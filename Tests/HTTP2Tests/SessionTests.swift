import HTTP2
import Testing

@Suite("Client and server session, joined by memory")
struct SessionTests {
    @Test("a request arrives whole and its response comes back", arguments: [Int.max, 1, 7])
    func roundTrip(chunk: Int) throws {
        let pair = try SessionPair()
        pair.chunk = chunk
        let slot = try pair.client.submit(pushFields(1), body: Array("{\"aps\":{}}".utf8))
        try pair.exchange()
        let (stream, request) = try #require(pair.requests.first)
        #expect(request.fields.string(":path") == "/3/device/1")
        #expect(request.fields.string(":method") == "POST")
        #expect(
            request.fields.strings.map(\.name) == [":method", ":scheme", ":authority", ":path", "apns-id"])
        #expect(request.body == Array("{\"aps\":{}}".utf8))
        #expect(request.isBodyComplete)

        var fields = HeaderFields(status: 200)
        fields.append("apns-id", "1")
        fields.append("server", "not kept")
        #expect(pair.server.respond(to: stream, fields, body: Array("hello".utf8)))
        try pair.exchange()
        let response = try #require(pair.responses[slot])
        #expect(response.status == 200)
        #expect(response.fields.strings.map(\.name) == ["apns-id"])
        #expect(response.body == Array("hello".utf8))
        #expect(pair.client.openStreamCount == 0)
        #expect(pair.server.openStreamCount == 0)
    }
}
