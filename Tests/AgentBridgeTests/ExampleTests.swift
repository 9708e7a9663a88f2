import HTTPServer
import Network
import Testing
import WebClient

/// The example in WebClient's documentation, line by line; the bridge is one of WebClient's users.
@Suite("Example of WebClient", .timeLimit(.minutes(2)))
struct ExampleTests {
    @Test("a request is sent and its response checked")
    func send() async throws {
        var router = Router()
        router.onSync(.post, "/echo") { Response(contentType: "application/json", body: $0.body) }
        let loop = EventLoop(label: "test")
        let options = HTTPServer.Options(address: try #require(SocketAddress(ip: "127.0.0.1", port: 0)))
        let ledger = ConnectionLedger(limits: options.limits)
        let server = try await HTTPServer.start(Service(router: router), options, ledger: ledger, on: loop)
        let url = "http://\(server.address)/echo"

        var request = WebRequest(url: url, timeout: .seconds(5))
        request.body = Array(#"{"ok":true}"#.utf8)
        request.answerBytesMax = 4_096
        let answer = try await WebClient.send(request)
        let isJSON = answer.status == 200 && answer.isOfType("application/json")

        #expect(isJSON)
        #expect(answer.body == Array(#"{"ok":true}"#.utf8))
        await server.stop(within: .seconds(5))
        await loop.stop()
    }
}
