import ChildProcess
import Foundation
import JSON
import Testing

@Suite(.timeLimit(.minutes(2)))
struct SecrecyTests {
    @Test(
        "The logs of a whole run contain no secret, full token, key or text",
        arguments: ["json", "text"])
    func logs(format: String) async throws {
        let secrets = (0..<4).map { "secret-number-\($0)-of-this-test" }
        let words = [
            "Title that nobody may read", "Body that nobody may read", "AQsealedTextThatNobodyReads1",
        ]
        var said: [String] = []
        var key: [String] = []
        try await Stack.run(["RELAY_LOG_LEVEL": "debug"]) { stack in
            if format == "text" {
                try await stack.relay.stop()
                try await restartWithText(stack)
            }
            let state: JSON.Value = [
                "token": .string(token(1)), "state": "unregistered", "since": 4_000_000_000_000,
            ]
            try await stack.control.put("/tokens", state)
            for secret in secrets {
                for number in 0..<3 { try await stack.register(secret, token(number)) }
                let texts: JSON.Value = ["title": .string(words[0]), "body": .string(words[1])]
                _ = try await stack.event(secret, texts)
                _ = try await stack.event(secret, ["sealed": .string(words[2])])
            }
            let sealed = try await stack.control.pushes(token: token(0)).filter {
                $0["payload"]?["sealed"] == .string(words[2])
                    && $0["payload"]?["aps"]?["mutable-content"] == 1
            }
            #expect(sealed.count == secrets.count)
            try await stack.control.put("/rules", ["reason": "InvalidProviderToken"])
            _ = try await stack.event(secrets[0])
            let call = """
                {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send_notification",
                 "arguments":{"title":"\(words[0])","message":"\(words[1])","eventID":"agent"}}}
                """
            let answer = try await stack.http.send(
                "POST", "/mcp", body: call,
                headers: ["Authorization: Bearer \(secrets[1])", "Content-Type: application/json"])
            #expect(answer.text.contains("structuredContent"))
            #expect((secrets + (0..<3).map(token)).allSatisfy { !answer.text.contains($0) })
            // Even a secret in a place where it doesn't belong must not be logged.
            _ = try await stack.http.get("/\(secrets[0])?secret=\(secrets[1])")
            _ = try await stack.http.send(
                "POST", "/v1/event", body: "{\"secret\":\"\(secrets[2])\",\"eventType\":\"\(secrets[3])\"}",
                headers: ["Authorization: Bearer \(secrets[3])", "X-Request-ID: \(secrets[0]) with spaces"])
            _ = try await stack.http.exchange(
                Array("GET /\(secrets[1]) HTTP/1.1\r\nbad header \(secrets[2])\r\n\r\n".utf8))
            try await stack.relay.stop()
            said = stack.relay.lines
            let pem = try String(contentsOfFile: stack.directory.file("key.p8"), encoding: .utf8)
            key = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }.map(String.init)
            try await stack.restartRelay()
        }
        #expect(said.count > 20)
        for line in said {
            for hidden in secrets + words + key + (0..<3).map(token) {
                #expect(!line.contains(hidden), "\(line)")
            }
        }
        #expect(said.contains { $0.contains("/v1/event") })
    }

    private func restartWithText(_ stack: Stack) async throws {
        try await stack.restartRelay(["RELAY_LOG_FORMAT": "text"])
    }
}
