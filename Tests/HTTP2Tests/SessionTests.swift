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

    @Test("bodies larger than frames and windows go both ways")
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

    @Test("a response's body beyond the client's limit is dropped, and so is a field beyond it")
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

    @Test("a body over the server's limit is cut, told at once, and answered before it has ended")
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

    @Test("a header list over the server's limit is answered with 431 and never shown")
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

    @Test("a field that is not to be indexed is sent so, every time")
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

    @Test("what is indexed costs next to nothing the second time")
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

    @Test("a list keeps order, values, and what replace and rewind make of it")
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

@Suite("Streams that end badly, in memory")
struct StreamFailureTests {
    @Test("REFUSED_STREAM means that nothing was done, another code means it may have been")
    func resets() throws {
        let pair = try SessionPair()
        let refused = try pair.client.submit(pushFields(1), body: [1])
        let broken = try pair.client.submit(pushFields(2), body: [2])
        try pair.exchange()
        try pair.server.reset(pair.requests[0].stream, .refusedStream)
        try pair.server.reset(pair.requests[1].stream, .internalError)
        try pair.exchange()
        #expect(pair.failures == [refused: .notProcessed(.refusedStream), broken: .reset(.internalError)])
        #expect(pair.serverEvents.filter { if case .aborted = $0 { true } else { false } }.count == 2)
    }

    @Test("a response that breaks off is no response")
    func cutResponse() throws {
        var limits = ClientLimits.forTests
        limits.bodyBytes = 1_000_000
        let pair = try SessionPair(client: limits)
        let slot = try pair.client.submit(pushFields(1), body: [])
        try pair.exchange()
        let stream = try #require(pair.requests.first?.stream)
        pair.server.respond(
            to: stream, HeaderFields(status: 200), body: [UInt8](repeating: 0, count: 1_000_000))
        try pair.carryToClient()
        try pair.server.reset(stream, .cancel)
        try pair.exchange()
        #expect(pair.failures[slot] == .reset(.cancel))
        #expect(pair.responses[slot] == nil)
    }

    @Test("GOAWAY shows its reason, streams above its last one were not processed, those below are answered")
    func goAway() throws {
        let pair = try SessionPair()
        let slots = try (0..<6).map { try pair.client.submit(pushFields($0), body: [1]) }
        try pair.exchange()
        let reason = Array("{\"reason\":\"Shutdown\"}".utf8)
        try pair.server.goAway(.noError, lastStreamID: pair.requests[2].stream, debugData: reason)
        try pair.carryToClient()
        let expected = GoAway(
            lastStreamID: pair.requests[2].stream.rawValue, code: .noError, debugData: reason)
        #expect(pair.clientEvents.contains(.goAway(expected)))
        #expect(Set(pair.failures.keys) == Set(slots[3...]))
        #expect(pair.failures.values.allSatisfy { $0 == .notProcessed(.refusedStream) })
        #expect(throws: HTTP2Error.noNewStreams) { try pair.client.submit(pushFields(9), body: []) }
        try pair.answerAll()
        #expect(Set(pair.responses.keys) == Set(slots[..<3]))
        #expect(pair.client.isFinished)
    }

    @Test("requests that wait in the session when GOAWAY comes were never sent")
    func goAwayBeforeSending() throws {
        let pair = try SessionPair()
        try pair.exchange()
        let slot = try pair.client.submit(pushFields(1), body: [1])
        try pair.server.goAway(.enhanceYourCalm)
        try pair.carryToClient()
        try pair.exchange()
        guard case .notProcessed = pair.failures[slot] else {
            Issue.record("\(String(describing: pair.failures[slot]))")
            return
        }
        #expect(pair.requests.isEmpty)
    }

    @Test("an announced shutdown refuses nothing until the second GOAWAY")
    func announcedShutdown() throws {
        let pair = try SessionPair()
        let slot = try pair.client.submit(pushFields(1), body: [1])
        try pair.exchange()
        try pair.server.announceShutdown()
        try pair.carryToClient()
        #expect(pair.clientEvents.contains(.goAway(GoAway(lastStreamID: .max, code: .noError))))
        #expect(pair.failures.isEmpty)
        try pair.server.goAway(.noError)
        try pair.answerAll()
        #expect(pair.responses[slot]?.status == 200)
        #expect(pair.client.isFinished && pair.server.isFinished)
    }

    @Test("a request can be given up before it is sent and after")
    func cancel() throws {
        let pair = try SessionPair()
        let unsent = try pair.client.submit(pushFields(1), body: [1])
        try pair.client.cancel(unsent)
        try pair.exchange()
        guard case .notProcessed = pair.failures[unsent] else {
            Issue.record("\(String(describing: pair.failures[unsent]))")
            return
        }
        #expect(pair.requests.isEmpty)

        let sent = try pair.client.submit(pushFields(2), body: [1])
        try pair.exchange()
        try pair.client.cancel(sent)
        try pair.exchange()
        #expect(pair.failures[sent] == .reset(.cancel))
        let stream = try #require(pair.requests.first?.stream)
        #expect(pair.serverEvents.contains(.aborted(stream, .cancel)))
        #expect(!pair.server.respond(to: stream, HeaderFields(status: 200)))
    }

    @Test("when the connection goes, what left the session is lost and what didn't was not processed")
    func abandon() throws {
        let pair = try SessionPair()
        try pair.exchange()
        let sent = try pair.client.submit(pushFields(1), body: [1])
        try pair.exchange()
        let unsent = try pair.client.submit(pushFields(2), body: [1])
        pair.client.abandon()
        pair.client.drainEvents { pair.clientEvents.append($0) }
        #expect(pair.failures == [sent: .connectionLost, unsent: .notProcessed(.cancel)])
        #expect(pair.client.openStreamCount == 0)
        #expect(throws: HTTP2Error.noNewStreams) { try pair.client.submit(pushFields(3), body: []) }
    }

    @Test("an answer that is told already is not taken back by the connection's end")
    func abandonAfterAnswer() throws {
        let pair = try SessionPair()
        let slot = try pair.client.submit(pushFields(1), body: [1])
        try pair.exchange()
        pair.server.respond(to: try #require(pair.requests.first?.stream), HeaderFields(status: 200))
        var output: [UInt8] = []
        try pair.server.collectOutput(into: &output, target: .max)
        try output.withUnsafeBytes { try pair.client.receive($0) }
        pair.client.abandon()
        pair.client.drainEvents { pair.clientEvents.append($0) }
        #expect(pair.responses[slot]?.status == 200)
        #expect(pair.failures.isEmpty)
    }
}

@Suite("Limits, PING and what breaks the protocol, in memory")
struct SessionLimitTests {
    @Test("the stream limit is told, kept, raised and lowered at any moment")
    func streamLimit() throws {
        var limits = ServerLimits()
        limits.concurrentStreams = 1
        let pair = try SessionPair(server: limits)
        try pair.exchange()
        #expect(pair.client.streamLimit == 1)
        #expect(pair.clientEvents.contains(.streamLimit(1)))
        _ = try pair.client.submit(pushFields(1), body: [])
        #expect(!pair.client.canSubmit)
        #expect(throws: HTTP2Error.streamLimit) { try pair.client.submit(pushFields(2), body: []) }
        try pair.server.setMaxConcurrentStreams(1000)
        try pair.exchange()
        #expect(pair.serverEvents.contains(.settingsAcknowledged))
        for id in 2..<12 { _ = try pair.client.submit(pushFields(id), body: []) }
        try pair.exchange()
        try pair.server.setMaxConcurrentStreams(3)
        try pair.exchange()
        #expect(pair.client.streamLimit == 3)
        #expect(!pair.client.canSubmit)
        try pair.answerAll()
        #expect(pair.responses.count == 11)
        #expect(pair.client.canSubmit)
    }

    @Test("requests over a limit that was lowered meanwhile wait or are refused, and none is lost")
    func loweredInFlight() throws {
        let pair = try SessionPair()
        try pair.exchange()
        try pair.server.setMaxConcurrentStreams(2)
        let slots = try (0..<10).map { try pair.client.submit(pushFields($0), body: [1]) }
        try pair.carryToServer()
        for _ in 0..<10 {
            try pair.exchange()
            try pair.answerAll()
        }
        #expect(pair.responses.count + pair.failures.count == 10)
        #expect(Set(pair.responses.keys).union(pair.failures.keys) == Set(slots))
        #expect(pair.failures.values.allSatisfy { $0 == .notProcessed(.refusedStream) })
        let ids = pair.requests.compactMap { $0.request.fields.string("apns-id") }
        #expect(Set(ids).count == ids.count)
        #expect(ids.count == pair.responses.count)
    }

    @Test("PING comes back with its value, both ways")
    func ping() throws {
        let pair = try SessionPair()
        try pair.client.ping(0x0102_0304_0506_0708)
        try pair.server.ping(42)
        try pair.exchange()
        #expect(pair.clientEvents.contains(.pingAcknowledged(0x0102_0304_0506_0708)))
        #expect(pair.serverEvents.contains(.pingAcknowledged(42)))
    }

    @Test("a client that resets stream after stream is cut off")
    func rapidReset() throws {
        var limits = ServerLimits()
        limits.resetBurst = 20
        limits.resetsPerSecond = 1
        let pair = try SessionPair(server: limits)
        var resets = 0
        while !pair.server.isFinished && resets < 100 {
            guard let slot = try? pair.client.submit(pushFields(resets), body: []) else { break }
            try pair.carryToServer()
            try pair.client.cancel(slot)
            try pair.exchange()
            resets += 1
        }
        #expect(resets >= 20 && resets < 30)
        #expect(
            pair.clientEvents.contains {
                if case .goAway(let end) = $0 { end.code != .noError } else { false }
            })
    }

    @Test("bytes that are no HTTP/2 end a server's session", arguments: ["GET / HTTP/1.1\r\n\r\n", "\u{0}"])
    func badPreface(text: String) throws {
        let server = try ServerSession()
        let bytes = Array(text.utf8) + [UInt8](repeating: 0, count: 100)
        #expect(throws: HTTP2Error.self) { try bytes.withUnsafeBytes { try server.receive($0) } }
    }

    @Test("a frame out of place ends the session with GOAWAY and a diagnosis")
    func badFrame() throws {
        let pair = try SessionPair()
        try pair.exchange()
        let dataOnStreamZero: [UInt8] = [0, 0, 1, 0, 0, 0, 0, 0, 0, 7]
        try dataOnStreamZero.withUnsafeBytes { try pair.server.receive($0) }
        try pair.carryToClient()
        #expect(pair.server.isFinished)
        #expect(pair.server.peerFault == "DATA: stream_id == 0")
        #expect(
            pair.clientEvents.contains {
                if case .goAway(let end) = $0 { end.code == .protocolError } else { false }
            })
    }

    @Test("an interim response is not shown, the final one is")
    func interimResponse() throws {
        let pair = try SessionPair()
        let slot = try pair.client.submit(pushFields(1), body: [])
        try pair.exchange()
        // HEADERS on stream 1 with :status 103 as a literal, END_HEADERS.
        let interim: [UInt8] = [0, 0, 5, 1, 4, 0, 0, 0, 1, 8, 3, 0x31, 0x30, 0x33]
        try interim.withUnsafeBytes { try pair.client.receive($0) }
        #expect(pair.responses.isEmpty)
        try pair.answerAll()
        #expect(pair.responses[slot]?.status == 200)
    }

    @Test("a response without a status is reset")
    func noStatus() throws {
        let pair = try SessionPair()
        let slot = try pair.client.submit(pushFields(1), body: [])
        try pair.exchange()
        // HEADERS on stream 1 with a: b alone, END_HEADERS and END_STREAM.
        let bare: [UInt8] = [0, 0, 5, 1, 5, 0, 0, 0, 1, 0, 1, 0x61, 1, 0x62]
        try bare.withUnsafeBytes { try pair.client.receive($0) }
        try pair.exchange()
        #expect(pair.failures[slot] == .reset(.protocolError))
    }
}
