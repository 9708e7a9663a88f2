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

    @Test("A ledger counts in all and for each client, forgets who has gone, and spares the exempt")
    func ledger() throws {
        var limits = Limits()
        limits.connectionsMax = 4
        limits.connectionsPerAddressMax = 2
        let proxy = try #require(SocketAddress(ip: "10.0.0.1", port: 1))
        let ledger = ConnectionLedger(limits: limits) { $0.host == proxy.host }
        let client = try #require(SocketAddress(ip: "2001:db8::1", port: 1))
        let neighbour = try #require(SocketAddress(ip: "2001:db8::2", port: 9))
        let other = try #require(SocketAddress(ip: "2001:db8:0:1::1", port: 1))
        #expect(ledger.admit(client))
        #expect(ledger.admit(neighbour))
        #expect(!ledger.admit(client), "one /64 is one client")
        #expect(ledger.admit(other))
        ledger.release(neighbour)
        #expect(ledger.admit(client))
        ledger.release(other)
        #expect(ledger.admit(proxy) && ledger.admit(proxy))
        #expect(!ledger.admit(proxy), "four in all")
        ledger.release(client)
        ledger.release(client)
        #expect(ledger.admit(proxy) && ledger.admit(proxy), "no cap of its own")
        #expect(!ledger.admit(proxy))
        #expect(ledger.count == 4)
    }
}
