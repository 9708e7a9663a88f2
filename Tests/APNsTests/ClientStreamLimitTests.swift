import APNs
import HTTP2
import HTTP2Testing
import Network
import Testing

/// The fate of pushes when the server allows no streams on a connection.
@Suite("The client and a stream limit of 0", .timeLimit(.minutes(5)))
struct ClientStreamLimitTests {
    @Test("connections whose limit drops to 0 are replaced, and queued pushes are sent")
    func dropped() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop) {
                $0.connectionsMax = 2
                $0.noStreamsMax = .milliseconds(200)
            }
            // Neither push is answered before both have arrived, so both connections are needed.
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
            #expect(fixture.client.statistics.connectionsReplaced == ["no_streams": 2])
            #expect(fixture.events.count { $0 == .replaced(.noStreams) } == 2)
            await fixture.end(on: loop)
        }
    }

    @Test("if a server allows no streams on any connection, pushes soon fail with that cause")
    func never() async throws {
        try await withLoop { loop in
            var limits = ServerLimits()
            limits.concurrentStreams = 0
            let fixture = try ClientFixture(on: loop, limits: limits) {
                $0.noStreamsMax = .milliseconds(100)
                // The last connection has to end before the pause is over.
                $0.backoffBase = .milliseconds(200)
            }
            try fixture.send(20)
            await fixture.settle(on: loop)
            fixture.expectSound()
            // The client may send one push per connection before it has read the SETTINGS; the server refuses it.
            #expect(fixture.tally == [.notSent(.noStreams): 20])
            #expect(fixture.server.acceptedCount == fixture.client.settings.failuresBeforeRefusing)
            await fixture.end(on: loop)
        }
    }

    @Test("pushes are sent again once the server allows streams on its open connections")
    func raised() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop) { $0.connectionsMax = 1 }
            #expect(await fixture.client.send(try ClientFixture.push("before")).kind == .accepted)
            let connection = try #require(fixture.server.connections.first)
            connection.setMaxConcurrentStreams(0)
            connection.ping(1)
            var isLowered = false
            fixture.server.onEvent = { _, event in
                if case .pingAcknowledged = event { isLowered = true }
            }
            #expect(await fixture.server.watch.wait(on: loop) { isLowered })
            try fixture.send(5)
            #expect(fixture.client.statistics.pushesWaiting == 5)
            connection.setMaxConcurrentStreams(3)
            await fixture.settle(on: loop)
            #expect(fixture.tally == [.accepted: 5])
            #expect(fixture.server.acceptedCount == 1)
            await fixture.end(on: loop)
        }
    }
}
