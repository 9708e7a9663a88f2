import HTTP2
import Testing

@Suite("Client and server session, in memory", .timeLimit(.minutes(2)))
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

    @Test("a request and a response without a body need no DATA frame")
    func emptyBodies() throws {
        let pair = try SessionPair()
        let slot = try pair.client.submit(pushFields(1), body: [])
        try pair.exchange()
        #expect(pair.requests.first?.request.body == [])
        try pair.answerAll()
        #expect(pair.responses[slot]?.status == 200)
        #expect(pair.responses[slot]?.body == [])
    }

    @Test("bodies larger than frames and windows are transferred in both directions")
    func largeBodies() throws {
        var serverLimits = ServerLimits()
        serverLimits.bodyBytes = 400_000
        var clientLimits = ClientLimits.forTests
        clientLimits.bodyBytes = 300_000
        let pair = try SessionPair(client: clientLimits, server: serverLimits)
        let up = (0..<400_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        let down = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 11) }
        let slot = try pair.client.submit(pushFields(1), body: up)
        try pair.exchange()
        let (stream, request) = try #require(pair.requests.first)
        #expect(request.body == up)
        pair.server.respond(to: stream, HeaderFields(status: 200), body: down)
        try pair.exchange()
        #expect(pair.responses[slot]?.body == down)
    }

    @Test("a response's body and fields beyond the client's limits are dropped")
    func clientBounds() throws {
        var limits = ClientLimits.forTests
        limits.bodyBytes = 10
        limits.headerListBytes = 100
        let pair = try SessionPair(client: limits)
        let slot = try pair.client.submit(pushFields(1), body: [])
        try pair.exchange()
        let stream = try #require(pair.requests.first?.stream)
        var fields = HeaderFields(status: 500)
        fields.append("retry-after", "5")
        fields.append("apns-id", String(repeating: "x", count: 80))
        pair.server.respond(to: stream, fields, body: [UInt8](repeating: 1, count: 20_000))
        try pair.exchange()
        let response = try #require(pair.responses[slot])
        #expect(response.status == 500)
        #expect(response.body == [UInt8](repeating: 1, count: 10))
        #expect(response.fields.strings.map(\.name) == ["retry-after"])
    }

    @Test(
        "a body over the server's limit is truncated, reported immediately and can be answered before its end"
    )
    func bodyOverLimit() throws {
        var limits = ServerLimits()
        limits.bodyBytes = 1000
        let pair = try SessionPair(server: limits)
        let slot = try pair.client.submit(pushFields(1), body: [UInt8](repeating: 7, count: 200_000))
        try pair.carryToServer()
        let (stream, request) = try #require(pair.requests.first)
        #expect(!request.isBodyComplete)
        #expect(request.body.count == 1000)
        pair.server.respond(to: stream, HeaderFields(status: 413))
        try pair.exchange()
        #expect(pair.responses[slot]?.status == 413)
        #expect(pair.server.openStreamCount == 0)
        #expect(pair.client.openStreamCount == 0)
    }

    @Test("a header list over the server's limit gets a 431 and is never reported")
    func headersOverLimit() throws {
        var limits = ServerLimits()
        limits.headerListBytes = 500
        let pair = try SessionPair(server: limits)
        var fields = pushFields(1)
        fields.append("x-large", String(repeating: "x", count: 600))
        let slot = try pair.client.submit(fields, body: [1, 2, 3])
        try pair.exchange()
        #expect(pair.requests.isEmpty)
        #expect(pair.responses[slot]?.status == 431)
        let after = try pair.client.submit(pushFields(2), body: [])
        try pair.exchange()
        try pair.answerAll()
        #expect(pair.responses[after]?.status == 200)
    }

    @Test("a never-indexed field is sent as such every time")
    func neverIndexed() throws {
        let pair = try SessionPair()
        for _ in 0..<3 {
            var fields = pushFields(1)
            fields.append("authorization", "bearer x", indexed: false)
            fields.append("apns-topic", "com.example.app")
            _ = try pair.client.submit(fields, body: [])
        }
        try pair.exchange()
        for request in pair.requests.map(\.request.fields) {
            #expect(request.isIndexed("authorization") == false)
            #expect(request.isIndexed("apns-id") == false)
            #expect(request.isIndexed("apns-topic") == true)
        }
        #expect(pair.requests.count == 3)
    }

    @Test("indexed fields take almost no bytes the second time")
    func indexing() throws {
        let pair = try SessionPair()
        var sizes: [Int] = []
        for _ in 0..<3 {
            var fields = HeaderFields()
            fields.append(":method", "POST" as StaticString)
            fields.append(":scheme", "https" as StaticString)
            fields.append(":authority", "localhost")
            fields.append(":path", "/" as StaticString)
            fields.append("apns-topic", String(repeating: "long.", count: 30))
            _ = try pair.client.submit(fields, body: [])
            var output: [UInt8] = []
            try pair.client.collectOutput(into: &output, target: .max)
            sizes.append(output.count)
        }
        #expect(sizes[1] > 9 && sizes[1] < 9 + 8)
        #expect(sizes[2] == sizes[1])
    }

    @Test("a list keeps order and values, also after replace and rewind")
    func headerFields() throws {
        var fields = HeaderFields()
        fields.append(":path", "" as StaticString)
        fields.append("apns-topic", "t")
        let mark = fields.mark
        for turn in ["one", "two", "three"] {
            fields.rewind(to: mark)
            fields.replace(at: 0, "/3/device/", turn)
            fields.append("apns-id", turn)
            #expect(fields.string(":path") == "/3/device/" + turn)
            #expect(fields.strings.map(\.value) == ["/3/device/" + turn, "t", turn])
        }
        var same = HeaderFields()
        same.append(":path", "/3/device/three")
        same.append(name: "apns-topic", value: "t")
        same.append("apns-id", Array("three".utf8))
        #expect(fields == same)
        #expect(fields.count(of: "apns-id") == 1)
        same.append("apns-id", "again")
        #expect(same.count(of: "apns-id") == 2)
        #expect(same.string("apns-id") == "three")
        #expect(fields != same)
        #expect(same["absent"] == nil)
        #expect(HeaderFields(status: 410).status == 410)
    }
}
