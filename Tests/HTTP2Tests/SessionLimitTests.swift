import HTTP2
import Testing

@Suite("Limits, PING and protocol violations, in memory", .timeLimit(.minutes(2)))
struct SessionLimitTests {
    @Test("the stream limit is reported, enforced, raised and lowered at any time")
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

    @Test("requests over a lowered limit wait or are refused, and none is lost")
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

    @Test("PING is acknowledged with its value in both directions")
    func ping() throws {
        let pair = try SessionPair()
        try pair.client.ping(0x0102_0304_0506_0708)
        try pair.server.ping(42)
        try pair.exchange()
        #expect(pair.clientEvents.contains(.pingAcknowledged(0x0102_0304_0506_0708)))
        #expect(pair.serverEvents.contains(.pingAcknowledged(42)))
    }

    @Test("a client that keeps resetting streams is disconnected")
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

    @Test("an unexpected frame ends the session with GOAWAY and a diagnosis")
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

    @Test("interim responses are skipped and the final one is reported")
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
        // HEADERS on stream 1 with only "a: b", END_HEADERS and END_STREAM.
        let bare: [UInt8] = [0, 0, 5, 1, 5, 0, 0, 0, 1, 0, 1, 0x61, 1, 0x62]
        try bare.withUnsafeBytes { try pair.client.receive($0) }
        try pair.exchange()
        #expect(pair.failures[slot] == .reset(.protocolError))
    }
}
