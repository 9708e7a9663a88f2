import Glibc
import JSON
import Network
import Testing

/// Clients that are slow, silent or hostile while the relay serves others.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct ClientBehaviourTests {
    static let idleConnections = 10_000

    @Test("10,000 idle connections and slow request heads don't prevent others from being served")
    func crowd() async throws {
        let settings = [
            "RELAY_CONNECTIONS_PER_ADDRESS_MAX": "20000", "RELAY_HEAD_DEADLINE": "8s",
            "RELAY_IDLE_TIMEOUT": "600s",
        ]
        try await Stack.run(settings) { stack in
            try await stack.register("a secret of the test", token(1))
            let crowd = try Program(
                script: "crowd", [String(stack.http.endpoint.port), String(Self.idleConnections)])
            _ = try await crowd.line("it holds its connections", within: .seconds(120)) {
                $0 == "held \(Self.idleConnections)"
            }
            let dripping = try await HeldConnection(stack.http)
            await dripping.send("GET /health HTTP/1.1\r\nHo")
            let began = ContinuousClock.now
            for _ in 0..<50 {
                #expect(try await stack.event("a secret of the test").sent == 1)
                await dripping.send("s")
            }
            // If each waited for an idle connection's deadline, they would take hours.
            #expect(ContinuousClock.now - began < .seconds(30))
            let refused = await dripping.answer()
            #expect(refused.hasPrefix("HTTP/1.1 408 "), "\(refused)")
            #expect(refused.contains("request_timeout"))
            await dripping.closed()
            // The crowd exits on its own if the relay closes one of its connections.
            crowd.signal(SIGKILL)
            #expect(try await crowd.ended() == -SIGKILL, "\(crowd.output)")
        }
    }

    @Test("Connections of one address over its limit are refused, and the others continue")
    func cap() async throws {
        try await Stack.run(["RELAY_CONNECTIONS_PER_ADDRESS_MAX": "3"]) { stack in
            var held: [HeldConnection] = []
            for _ in 0..<3 { held.append(try await HeldConnection(stack.http)) }
            for connection in held { #expect(try await connection.get("/health").contains("200 OK")) }
            let refused = try? await stack.http.get("/health")
            #expect(refused?.status == 503 || refused == nil)
            #expect(try await held[0].get("/health").contains("200 OK"))
            for connection in held { await connection.close() }
            _ = try await eventually {
                try? await stack.http.get("/health")
            } until: {
                $0?.status == 200
            }
        }
    }

    @Test("Every documented refusal has its status and code")
    func refusals() async throws {
        try await Stack.run { stack in
            let long = String(repeating: "x", count: 17_000)
            let cases: [(String, String, String?, Int, String)] = [
                ("GET", "/nowhere", nil, 404, "not_found"),
                ("GET", "/v1/event", nil, 405, "method_not_allowed"),
                ("POST", "/v1/event", "not json", 400, "invalid_body"),
                ("POST", "/v1/event", "[]", 400, "invalid_body"),
                ("POST", "/v1/event", "{}", 400, "missing_field"),
                (
                    "POST", "/v1/event", #"{"secret":null,"eventType":"error","sessionID":"s"}"#, 400,
                    "invalid_field"
                ),
                (
                    "POST", "/v1/device/register", #"{"secret":"short","deviceToken":"abcd"}"#, 400,
                    "weak_secret"
                ),
                (
                    "POST", "/v1/device/register", #"{"secret":"a secret of the test","deviceToken":"xyz"}"#,
                    400,
                    "invalid_field"
                ),
                ("POST", "/v1/event", "{\"secret\":\"\(long)\"}", 413, "body_too_large"),
            ]
            for (method, path, body, status, code) in cases {
                let answer = try await stack.http.send(method, path, body: body)
                #expect(answer.status == status, "\(method) \(path)")
                #expect(try answer.json()["code"]?.string == code, "\(method) \(path)")
                #expect(try answer.json()["ok"]?.bool == false)
                #expect(answer.headers["content-type"] == "application/json")
                #expect(answer.headers["server"] == nil)
                #expect(answer.headers["x-request-id"]?.isEmpty == false)
            }
        }
    }
}
