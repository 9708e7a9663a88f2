import APNs
import HTTP2
import HTTP2Testing
import Network
import Testing

@Suite("The client against a server over TLS on loopback", .timeLimit(.minutes(5)))
struct ClientTests {
    @Test("pushes are accepted, each sent once, all over one connection")
    func accepted() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop)
            try fixture.send(500)
            await fixture.settle(on: loop)
            fixture.expectSound()
            #expect(fixture.tally == [.accepted: 500])
            #expect(fixture.server.acceptedCount == 1)
            #expect(fixture.client.statistics.accepted == 500)
            #expect(fixture.server.received.count == 500)
            await fixture.end(on: loop)
        }
    }

    @Test("a request has the documented headers and indexes those that APNs recommends")
    func fields() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop)
            var seen: [HeaderFields] = []
            var bodies: [[UInt8]] = []
            fixture.server.onRequest = {
                seen.append($0.request.fields)
                bodies.append($0.request.body)
                $0.answer()
            }
            for id in ["first", "second"] {
                let outcome = await fixture.client.send(try ClientFixture.push(id, collapseID: "together"))
                #expect(outcome == .accepted(apnsID: id, uniqueID: nil))
            }
            let request = try #require(seen.last)
            let authority = "127.0.0.1:\(fixture.server.endpoint.port)"
            let token = try #require(request.string("authorization"))
            #expect(token.hasPrefix("bearer ey"))
            #expect(
                request.strings.map { "\($0.name)=\($0.name == "authorization" ? "" : $0.value)" } == [
                    ":path=/3/device/00112233445566778899aabbccddeeff", ":method=POST", ":scheme=https",
                    ":authority=\(authority)", "authorization=", "apns-topic=com.example.app",
                    "apns-push-type=alert", "apns-priority=10", "apns-expiration=1800086400",
                    "apns-id=second", "apns-collapse-id=together",
                ])
            #expect(bodies.allSatisfy { $0 == Array("{\"aps\":{}}".utf8) })
            for name: StaticString in [":path", "authorization"] {
                #expect(seen.allSatisfy { $0.isIndexed(name) == false || name.description == ":path" })
            }
            for name: StaticString in ["apns-id", "apns-expiration", "apns-collapse-id"] {
                #expect(seen.map { $0.isIndexed(name) } == [true, false])
            }
            await fixture.end(on: loop)
        }
    }

    @Test("a refusal has its status, reason, timestamp and Retry-After")
    func rejected() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop)
            fixture.server.onRequest = { incoming in
                var fields = HeaderFields(status: 410)
                fields.append("apns-id", incoming.id)
                fields.append("retry-after", "7")
                incoming.connection.respond(
                    to: incoming.stream, fields,
                    body: Array(#"{"reason":"Unregistered","timestamp":1700000000000}"#.utf8))
            }
            let outcome = await fixture.client.send(try ClientFixture.push("gone"))
            let expected = Rejection(
                status: 410, reason: Reason(.unregistered), timestamp: 1_700_000_000_000, retryAfter: 7)
            #expect(outcome == .rejected(expected))
            #expect(fixture.client.statistics.rejected == ["Unregistered": 1])
            await fixture.end(on: loop)
        }
    }

    @Test("an answer's own apns-id and apns-unique-id are kept")
    func identifiers() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop)
            fixture.server.onRequest = { incoming in
                var fields = HeaderFields(status: 200)
                fields.append("apns-id", "another")
                fields.append("apns-unique-id", "unique")
                incoming.connection.respond(to: incoming.stream, fields)
            }
            let outcome = await fixture.client.send(try ClientFixture.push("mine"))
            #expect(outcome == .accepted(apnsID: "another", uniqueID: "unique"))
            await fixture.end(on: loop)
        }
    }

    @Test("a new connection carries one push until it is accepted")
    func priming() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop) { $0.connectionsMax = 1 }
            var held: [ScriptedServer.Incoming] = []
            fixture.server.onRequest = { held.append($0) }
            try fixture.send(50)
            _ = await fixture.server.watch.wait(on: loop) { held.count == 1 }
            // Another round trip shows that nothing else was sent.
            fixture.server.connections.first?.ping(1)
            var isPonged = false
            fixture.server.onEvent = { _, event in if event == .pingAcknowledged(1) { isPonged = true } }
            _ = await fixture.server.watch.wait(on: loop) { isPonged }
            #expect(held.count == 1)
            held.removeFirst().answer()
            _ = await fixture.server.watch.wait(on: loop) { held.count == 49 }
            fixture.server.onRequest = { $0.answer() }
            for incoming in held { incoming.answer() }
            await fixture.settle(on: loop)
            fixture.expectSound()
            await fixture.end(on: loop)
        }
    }

    @Test("load beyond one connection is shared by several, up to the limit")
    func growth() async throws {
        try await withLoop { loop in
            var limits = ServerLimits()
            limits.concurrentStreams = 5
            let fixture = try ClientFixture(on: loop, limits: limits) { $0.connectionsMax = 3 }
            // Except for the priming push, nothing is answered before the connection is full.
            var held: [Int: [ScriptedServer.Incoming]] = [:]
            var most = 0
            fixture.server.onRequest = { incoming in
                let index = incoming.connectionIndex
                guard let others = held[index] else {
                    held[index] = []
                    return incoming.answer()
                }
                held[index] = others + [incoming]
                most = max(most, others.count + 1)
                if held.values.allSatisfy({ $0.count == 5 }) && held.count == 3 {
                    fixture.server.onRequest = { $0.answer() }
                    for incoming in held.values.joined() { incoming.answer() }
                }
            }
            try fixture.send(400)
            await fixture.settle(on: loop)
            fixture.expectSound()
            #expect(fixture.tally == [.accepted: 400])
            #expect(fixture.server.acceptedCount == 3)
            #expect(most == 5)
            await fixture.end(on: loop)
        }
    }

    @Test("pushes over the queue's limit are refused before anything is sent")
    func queueFull() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop) { $0.queuedPushesMax = 20 }
            try fixture.send(50)
            #expect(fixture.tally == [.notSent(.queueFull): 30])
            await fixture.settle(on: loop)
            fixture.expectSound()
            #expect(fixture.tally == [.notSent(.queueFull): 30, .accepted: 20])
            await fixture.end(on: loop)
        }
    }

    @Test("stopping finishes pushes in flight, refuses new ones and closes all connections")
    func stop() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop)
            try fixture.send(200)
            await fixture.client.stop(deadline: .seconds(10))
            #expect(fixture.tally == [.accepted: 200])
            try fixture.send(1)
            #expect(fixture.tally == [.accepted: 200, .notSent(.shuttingDown): 1])
            #expect(fixture.client.statistics.openConnections == 0)
            fixture.expectSound()
            _ = await fixture.server.watch.wait(on: loop) { fixture.server.connections.isEmpty }
            #expect(fixture.server.ends.allSatisfy { $0.isOrderly })
            await fixture.end(on: loop)
        }
    }

    @Test("a stopped client and its connections are released, however they ended")
    func released() async throws {
        try await withLoop { loop in
            weak var client: Client?
            final class Reference {
                weak var connection: HTTP2ServerConnection?
            }
            var connections: [Reference] = []
            weak var server: ScriptedServer?
            do {
                let fixture = try ClientFixture(on: loop) { $0.connectionsMax = 2 }
                (client, server) = (fixture.client, fixture.server)
                fixture.server.onConnection = { [weak fixture] in
                    let reference = Reference()
                    reference.connection = $0
                    connections.append(reference)
                    if fixture?.server.acceptedCount == 1 { $0.setMaxConcurrentStreams(1) }
                }
                fixture.server.onRequest = { incoming in
                    if incoming.id == "push-7" { incoming.connection.close() } else { incoming.answer() }
                }
                try fixture.send(20)
                await fixture.settle(on: loop)
                #expect(connections.count == 2)
                await fixture.end(on: loop)
            }
            // Objects released at the end of a turn are freed two turns later.
            for _ in 0..<2 { await Task.yield() }
            #expect(client == nil)
            #expect(connections.allSatisfy { $0.connection == nil })
            #expect(server == nil)
        }
    }

    @Test("unanswered pushes get an outcome at the stop deadline")
    func stopLate() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop) { $0.connectionsMax = 1 }
            fixture.server.onRequest = { incoming in
                if incoming.id == "push-0" { incoming.answer() } else { incoming.swallow() }
            }
            fixture.server.onConnection = { $0.setMaxConcurrentStreams(10) }
            try fixture.send(30)
            _ = await fixture.server.watch.wait(on: loop) { fixture.server.handled.count == 11 }
            await fixture.client.stop(deadline: .milliseconds(50))
            #expect(
                fixture.tally == [.accepted: 1, .unknown(.shuttingDown): 10, .notSent(.shuttingDown): 19])
            fixture.expectSound()
            await fixture.end(on: loop)
        }
    }
}
