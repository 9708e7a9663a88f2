import HTTP2
import Testing

@Suite("Failing streams, in memory", .timeLimit(.minutes(2)))
struct StreamFailureTests {
    @Test("REFUSED_STREAM means not processed; with another code the request may have been processed")
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

    @Test("an incomplete response is a failure")
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

    @Test("GOAWAY has a reason; streams above its last one were not processed, those below are answered")
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

    @Test("requests queued in the session when GOAWAY arrives were never sent")
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

    @Test("a request can be cancelled before and after it is sent")
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

    @Test("when the connection is lost, sent requests are lost and unsent ones not processed")
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

    @Test("the end of the connection doesn't change a response already reported")
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
