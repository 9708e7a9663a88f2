import Network
import Testing

@testable import HTTPServer

@Suite(.timeLimit(.minutes(1)))
struct BoundsTests {
    private static let soon = Duration.milliseconds(60)
    private static let never = Duration.seconds(3600)

    @Test("A head that drips in is answered 408 at its deadline, and only then")
    func slowHead() async throws {
        let change: (inout HTTPServer.Options) -> Void = {
            // The first head counts from the accept: time enough for a busy machine to send it.
            $0.limits.headDeadline = .seconds(2)
            $0.limits.idleDeadline = Self.never
        }
        try await serving(testService(), change) { loop, serving in
            let client = try await serving.client(on: loop)
            // On a connection that has already been used, so that the head's own clock is what ends it.
            client.send("GET /sync HTTP/1.1\r\nHost: h\r\n\r\nGET")
            #expect(try await client.answer(on: loop).status == 200)
            let dripping = client.drip(" ", every: .milliseconds(5), on: loop)
            let answer = try await client.answer(on: loop)
            #expect(answer.status == 408)
            #expect(answer.body == Refusal.headTimeout.sentence + "\n")
            #expect(await client.closed(on: loop) == "")
            dripping.cancel()
        }
    }

    @Test("A body that drips in is answered 408 at its deadline")
    func slowBody() async throws {
        let change: (inout HTTPServer.Options) -> Void = {
            $0.limits.bodyDeadline = Self.soon
            $0.limits.headDeadline = Self.never
            $0.limits.idleDeadline = Self.never
        }
        try await serving(testService(), change) { loop, serving in
            let client = try await serving.client(on: loop)
            client.send("POST /sync HTTP/1.1\r\nHost: h\r\nContent-Length: 9999\r\n\r\n")
            let dripping = client.drip("x", every: .milliseconds(5), on: loop)
            let answer = try await client.answer(on: loop)
            #expect(answer.status == 408)
            #expect(answer.body == Refusal.bodyTimeout.sentence + "\n")
            #expect(await client.closed(on: loop) == "")
            dripping.cancel()
        }
    }

    @Test("A connection that says nothing is closed without a word: at first, and between requests")
    func idle() async throws {
        try await serving(testService(), { $0.limits.headDeadline = Self.soon }) { loop, serving in
            let silent = try await serving.client(on: loop)
            #expect(await silent.closed(on: loop) == "")
        }
        try await serving(testService(), { $0.limits.idleDeadline = Self.soon }) { loop, serving in
            let used = try await serving.client(on: loop)
            used.send("GET /sync HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await used.answer(on: loop).status == 200)
            #expect(await used.closed(on: loop) == "")
        }
    }

    @Test("A client that takes nothing of its answers is closed")
    func writeStall() async throws {
        let body = [UInt8](repeating: 120, count: 1_000_000)
        // More than the socket buffers of both sides hold, 32 MB and 4 MB on a recent Linux.
        let count = 80
        var router = Router()
        router.onSync(.get, "/") { _ in Response(contentType: "text/plain", body: body) }
        let service = Service(router: router)
        try await serving(service, { $0.limits.writeStallDeadline = Self.soon }) { loop, serving in
            let client = try await serving.client(on: loop)
            client.send(String(repeating: "GET / HTTP/1.1\r\nHost: h\r\n\r\n", count: count))
            await client.received(1, on: loop)
            client.pauseReading()
            await eventually(on: loop) { serving.ledger.count == 0 }
            client.resumeReading()
            #expect(await client.closed(on: loop).utf8.count < body.count * count)
        }
    }

    @Test("Over the cap of one address a connection gets 503 and is closed, until another one ends")
    func perAddress() async throws {
        try await serving(testService(), { $0.limits.connectionsPerAddressMax = 2 }) { loop, serving in
            let first = try await serving.client(on: loop)
            let second = try await serving.client(on: loop)
            let third = try await serving.client(on: loop)
            third.send("GET /sync HTTP/1.1\r\nHost: h\r\n\r\n")
            let answer = try await third.answer(on: loop)
            #expect(answer.status == 503)
            #expect(answer.headers["connection"] == "close")
            #expect(answer.body == Refusal.tooManyConnections.sentence + "\n")
            #expect(await third.closed(on: loop) == "")
            second.send("GET /sync HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await second.answer(on: loop).status == 200)
            first.close()
            await eventually(on: loop) { serving.ledger.count == 1 }
            let fourth = try await serving.client(on: loop)
            fourth.send("GET /sync HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await fourth.answer(on: loop).status == 200)
            second.close()
            fourth.close()
        }
    }

    @Test("Beyond those that wait for their 503 a connection is closed without one")
    func refusedAtOnce() async throws {
        let change: (inout HTTPServer.Options) -> Void = {
            $0.limits.connectionsMax = 0
            $0.limits.refusedConnectionsMax = 1
            $0.limits.lingerDeadline = Self.never
        }
        try await serving(testService(), change) { loop, serving in
            let told = try await Client.connect(to: serving.server.address, staysOpen: true, on: loop)
            #expect(try await told.answer(on: loop).status == 503)
            let untold = try await serving.client(on: loop)
            #expect(await untold.closed(on: loop) == "")
            told.close()
        }
    }

    @Test(
        "When connections take more memory than they may, the one that has held most of it longest makes room"
    )
    func memory() async throws {
        let piece = 10_000
        let change: (inout HTTPServer.Options) -> Void = {
            // Room for four unfinished bodies beside the connections themselves.
            $0.limits.connectionMemoryBytesMax = 100_000
        }
        try await serving(testService(), change) { loop, serving in
            let modest = try await serving.client(on: loop)
            modest.send("GET /sync HTTP/1.1\r\nHost: h\r\n\r\n")
            _ = try await modest.answer(on: loop)
            var holders: [Client] = []
            for number in 0..<12 {
                let client = try await serving.client(on: loop)
                client.send("POST /sync HTTP/1.1\r\nHost: h\r\nContent-Length: \(piece + 1)\r\n\r\n")
                client.send(String(repeating: "x", count: piece))
                holders.append(client)
                await eventually(on: loop) {
                    serving.ledger.memoryBytes > piece * (number + 1) || serving.ledger.evictedCount > 0
                }
                #expect(serving.ledger.memoryBytes <= 100_000 + 4 * piece)
            }
            await eventually(on: loop) { serving.ledger.memoryBytes <= 100_000 }
            #expect(serving.ledger.evictedCount > 0)
            #expect(await holders[0].closed(on: loop) == "")
            // The last to come and the one that holds nothing are served.
            holders[11].send("x")
            #expect(try await holders[11].answer(on: loop).status == 200)
            modest.send("GET /sync HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await modest.answer(on: loop).status == 200)
            for client in holders { client.close() }
            modest.close()
            await eventually(on: loop) { serving.ledger.count == 0 }
            #expect(serving.ledger.memoryBytes == 0)
        }
    }

    @Test("What a client sends ahead is kept up to the bound, and the rest stays in the system's buffers")
    func pendingInput() async throws {
        let gate = Gate()
        try await serving(testService(gate: gate)) { loop, serving in
            let client = try await serving.client(on: loop)
            client.send("GET /held HTTP/1.1\r\nHost: h\r\n\r\n")
            await gate.arrived(1)
            let before = serving.ledger.memoryBytes
            client.send(String(repeating: "GET /sync HTTP/1.1\r\nHost: h\r\n\r\n", count: 20_000))
            await eventually(on: loop) { serving.ledger.memoryBytes > before }
            await pause(.milliseconds(50), on: loop)
            // An array may have room for twice as much as is in it.
            #expect(serving.ledger.memoryBytes - before <= 2 * Limits().readAheadBytesMax)
            gate.open()
            #expect(try await client.answer(on: loop).body == "held")
            client.close()
        }
    }
}
