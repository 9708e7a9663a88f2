import HTTPServer
import Network
import Testing

/// The example in the module's documentation, line by line.
@Suite("Example of HTTPServer", .timeLimit(.minutes(2)))
struct ExampleTests {
    @Test("a server answers the requests of its routes")
    func server() async throws {
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))

        var router = Router()
        router.onSync(.get, "/health") { _ in
            Response(contentType: "text/plain", body: Array("ok".utf8))
        }
        router.on(.post, "/echo") { request, _ in
            Response(contentType: "application/json", body: request.body)
        }
        let loop = EventLoop(label: "http")
        var options = HTTPServer.Options(address: address)
        options.limits.bodyBytesMax = 4_096
        let ledger = ConnectionLedger(limits: options.limits)
        let server = try await HTTPServer.start(Service(router: router), options, ledger: ledger, on: loop)

        let answers = try await loop.run { loop in
            let client = try await Client.connect(to: server.address, on: loop)
            client.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let health = try await client.answer(on: loop)
            client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
            let echo = try await client.answer(on: loop)
            client.close()
            return [health, echo]
        }
        #expect(answers.map(\.status) == [200, 200])
        #expect(answers.map(\.body) == ["ok", "{}"])
        await server.stop(within: .seconds(5))
        await loop.stop()
    }
}
