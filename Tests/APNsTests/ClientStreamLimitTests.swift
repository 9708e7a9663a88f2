import APNs
import HTTP2
import HTTP2Testing
import Network
import Testing

/// What becomes of pushes when the server allows a connection no streams.
@Suite("The client and a stream limit of 0", .timeLimit(.minutes(5)))
struct ClientStreamLimitTests {
    @Test("connections whose limit drops to 0 are replaced, and the pushes that wait go out")
    func dropped() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop) {
                $0.connectionsMax = 2
                $0.pushTimeout = .seconds(20)
            }
            // Each waits for the other, so that both connections are needed.
            var held: [ScriptedServer.Incoming] = []
            fixture.server.onConnection = { $0.setMaxConcurrentStreams(1) }
            fixture.server.onRequest = { incoming in
                held.append(incoming)
                guard held.count == 2 else { return }
                for incoming in held { incoming.answer() }
                fixture.server.onRequest = { $0.answer() }
            }
            try fixture.send(2)
            await fixture.settle(on: loop)
            #expect(fixture.server.acceptedCount == 2)
            for connection in fixture.server.connections { connection.setMaxConcurrentStreams(0) }
            try fixture.send(10)
            await fixture.settle(on: loop)
            fixture.expectSound()
            #expect(fixture.tally == [.accepted: 12])
            await fixture.end(on: loop)
        }
    }
}
