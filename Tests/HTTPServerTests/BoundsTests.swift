import Network
import Testing

@testable import HTTPServer

@Suite(.timeLimit(.minutes(1)))
struct BoundsTests {
    private static let soon = Duration.milliseconds(60)
    private static let never = Duration.seconds(3600)

    @Test("A trickling head is answered with 408 at its deadline, and not earlier")
    func slowHead() async throws {
        let change: (inout HTTPServer.Options) -> Void = {
            // The first header deadline starts at accept, so it leaves a busy machine time to send the headers.
            $0.limits.headDeadline = .seconds(2)
            $0.limits.idleDeadline = Self.never
        }
        try await serving(testService(), change) { loop, serving in
            let client = try await serving.client(on: loop)
            // On a used connection, so that the request's own header deadline closes it.
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

    @Test("A trickling body is answered with 408 at its deadline")
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

    @Test("A silent connection is closed without an answer, before the first request and between requests")
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

    @Test("A client that doesn't read its answers is disconnected")
    func writeStall() async throws {
        let body = [UInt8](repeating: 120, count: 1_000_000)
        // More than the socket buffers of both sides, 32 MB and 4 MB on a recent Linux.
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

    @Test("A connection over the limit of its address gets 503 and is closed, until another one ends")
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

    @Test("With too many refused connections waiting, a connection is closed without a 503")
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
        "Above the memory limit, the connection that has held buffers the longest is closed"
    )
    func memory() async throws {
        let piece = 10_000
        let change: (inout HTTPServer.Options) -> Void = {
            // Room for a few unfinished bodies besides the connections.
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
            // The newest connection and the one without buffers are still served.
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

    @Test("If much input arrives at once, memory falls below its limit without further input")
    func memoryAtOnce() async throws {
        let limit = 500_000
        let body = String(repeating: "x", count: 10_000)
        let unfinished = Array("POST /sync HTTP/1.1\r\nHost: h\r\nContent-Length: 10001\r\n\r\n\(body)".utf8)
        try await serving(testService(), { $0.limits.connectionMemoryBytesMax = limit }) { loop, serving in
            var holders: [Client] = []
            for _ in 0..<60 { holders.append(try await serving.client(on: loop)) }
            await eventually(on: loop) { serving.ledger.count == holders.count }
            #expect(serving.ledger.memoryBytes < limit)
            // The server reads none of it before this task waits.
            for holder in holders { holder.sendNow(unfinished) }
            await eventually(on: loop) { serving.ledger.evictedCount > 0 }
            await eventually(on: loop) { serving.ledger.memoryBytes <= limit }
            #expect(serving.ledger.evictedCount > 8 && serving.ledger.count > 0)
            for holder in holders { holder.close() }
        }
    }

    @Test("Pipelined input is buffered up to its limit, and the rest stays in the kernel")
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
            // An array may allocate twice what it holds.
            #expect(serving.ledger.memoryBytes - before <= 2 * Limits().readAheadBytesMax)
            gate.open()
            #expect(try await client.answer(on: loop).body == "held")
            client.close()
        }
    }
}
