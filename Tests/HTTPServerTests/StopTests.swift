import ChildProcess
import Glibc
import HTTPServer
import Network
import Testing

@Suite(.timeLimit(.minutes(1)))
struct StopTests {
    @Test("A stop closes idle connections, lets a handler finish, and refuses new connections")
    func graceful() async throws {
        let gate = Gate()
        try await serving(testService(gate: gate)) { loop, serving in
            let idle = try await serving.client(on: loop)
            idle.send("GET /sync HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await idle.answer(on: loop).headers["connection"] == nil)
            let busy = try await serving.client(on: loop)
            busy.send("GET /held HTTP/1.1\r\nHost: h\r\n\r\nGET /sync HTTP/1.1\r\nHost: h\r\n\r\n")
            await gate.arrived(1)
            let stopping = Task { await serving.server.stop(within: .seconds(30)) }
            #expect(await idle.closed(on: loop) == "")
            #expect(await refusesConnections(serving, on: loop))
            gate.open()
            let answer = try await busy.answer(on: loop)
            #expect(answer.body == "held")
            #expect(answer.headers["connection"] == "close")
            #expect(await busy.closed(on: loop) == "")
            await stopping.value
            #expect(serving.ledger.count == 0)
        }
    }

    @Test("A request in progress when the server stops is answered")
    func underWay() async throws {
        try await serving(testService()) { loop, serving in
            let client = try await serving.client(on: loop)
            client.send("POST /async HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\na")
            // The second connection's response shows that the first one's bytes have been read.
            let other = try await serving.client(on: loop)
            other.send("GET /sync HTTP/1.1\r\nHost: h\r\n\r\n")
            _ = try await other.answer(on: loop)
            let stopping = Task { await serving.server.stop(within: .seconds(30)) }
            #expect(await other.closed(on: loop) == "")
            client.send("b")
            let answer = try await client.answer(on: loop)
            #expect(answer.body == "ab")
            #expect(answer.headers["connection"] == "close")
            await stopping.value
        }
    }

    @Test("At its deadline a stop cancels the remaining handlers")
    func deadline() async throws {
        let gate = Gate()
        // Long, so that the stop ends because the connection has ended, not because it gave up on the handler.
        try await serving(
            testService(gate: gate), { $0.limits.cancelledHandlersDeadline = .seconds(30) }
        ) { loop, serving in
            let client = try await serving.client(on: loop)
            client.send("GET /held HTTP/1.1\r\nHost: h\r\n\r\n")
            await gate.arrived(1)
            await serving.server.stop(within: .milliseconds(50))
            #expect(serving.ledger.count == 0)
            #expect(await client.closed(on: loop) == "")
        }
    }

    @Test("Servers on several loops share an address and one ledger")
    func severalLoops() async throws {
        var options = HTTPServer.Options(address: try #require(SocketAddress(ip: "127.0.0.1", port: 0)))
        options.isShared = true
        let ledger = ConnectionLedger(limits: options.limits)
        let loops = [EventLoop(label: "one"), EventLoop(label: "two")]
        let first = try await HTTPServer.start(testService(), options, ledger: ledger, on: loops[0])
        options.address = first.address
        let second = try await HTTPServer.start(testService(), options, ledger: ledger, on: loops[1])
        #expect(first.address == second.address)
        try await loops[0].run { loop in
            var clients: [Client] = []
            for _ in 0..<32 {
                let client = try await Client.connect(to: first.address, on: loop)
                client.send("GET /async HTTP/1.1\r\nHost: h\r\n\r\n")
                #expect(try await client.answer(on: loop).body == "async")
                clients.append(client)
            }
            #expect(ledger.count == 32)
            for client in clients { client.close() }
        }
        await first.stop(within: .seconds(5))
        await second.stop(within: .seconds(5))
        #expect(ledger.count == 0)
        for loop in loops { await loop.stop() }
    }

    @Test("Everything works the same under TLS")
    func tls() async throws {
        let made = try SelfSignedCertificate()
        let directory = try makeTemporaryDirectory()
        let (certificate, key) = (directory + "/certificate.pem", directory + "/key.pem")
        try write(made.certificate, to: certificate)
        try write(made.privateKey, to: key)
        let server = try TLSServerContext(certificateFile: certificate, keyFile: key, alpn: ["http/1.1"])
        let trusted = try TLSClientContext(caFile: certificate, alpn: ["http/1.1"])
        let change: (inout HTTPServer.Options) -> Void = {
            $0.tls = server
            $0.limits.connectionsPerAddressMax = 1
        }
        try await serving(testService(), change) { loop, serving in
            let client = try await Client.connect(to: serving.server.address, tls: trusted, on: loop)
            let body = String(repeating: "x", count: 16_000)
            for path in ["/sync", "/async", "/sync"] {
                client.send("POST \(path) HTTP/1.1\r\nHost: h\r\nContent-Length: 16000\r\n\r\n" + body)
                #expect(try await client.answer(on: loop).body == body)
            }
            let refused = try await Client.connect(to: serving.server.address, tls: trusted, on: loop)
            #expect(try await refused.answer(on: loop).status == 503)
            #expect(await refused.closed(on: loop) == "")
            client.send("GET /sync HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            #expect(try await client.answer(on: loop).body == "sync")
            #expect(await client.closed(on: loop) == "")
            // A failed handshake frees its connection's slot.
            await eventually(on: loop) { serving.ledger.count == 0 }
            let plain = try await serving.client(on: loop)
            plain.send("GET /sync HTTP/1.1\r\nHost: h\r\n\r\n")
            _ = await plain.closed(on: loop)
            await eventually(on: loop) { serving.ledger.count == 0 }
        }
    }

    private func refusesConnections(_ serving: Serving, on loop: isolated EventLoop) async -> Bool {
        do {
            try await serving.client(on: loop).close()
            return false
        } catch {
            return true
        }
    }

    private func write(_ bytes: [UInt8], to path: String) throws {
        let file = try #require(fopen(path, "w"))
        fwrite(bytes, 1, bytes.count, file)
        fclose(file)
    }
}
