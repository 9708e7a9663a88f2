import JSON
import Network
import PrometheusText
import Testing

@Suite(.timeLimit(.minutes(2)))
struct LimitTests {
    private static let secret = "a secret of the test"
    private static let event =
        #"{"secret":"a secret of the test","eventType":"complete","sessionID":"ses_1"}"#

    @Test("An event over the limit gets 429 with Retry-After on every loop; another secret isn't affected")
    func events() async throws {
        try await Stack.run(["RELAY_EVENTS_PER_MINUTE": "5", "RELAY_LOOPS": "2"]) { stack in
            try await stack.register(Self.secret, token(1))
            var statuses: [Int: Int] = [:]
            for _ in 0..<20 {
                let answer = try await stack.http.post("/v1/event", Self.event)
                statuses[answer.status, default: 0] += 1
                guard answer.status == 429 else { continue }
                #expect(try answer.json()["code"] == "rate_limited")
                let wait = answer.headers["retry-after"].flatMap { Int($0) } ?? 0
                #expect((1...12).contains(wait))
            }
            // On a slow machine, a few more tokens may have been added during the test.
            let sent = statuses[200] ?? 0
            #expect((5...8).contains(sent) && statuses[429] == 20 - sent)
            #expect(try await stack.control.pushes().count == sent)
            #expect(try await stack.event("another secret of the test").failed == 0)
        }
    }

    @Test("A batch larger than other bodies is taken, and sends nothing when it is repeated")
    func batch() async throws {
        try await Stack.run { stack in
            try await stack.register(Self.secret, token(1))
            let body = String(repeating: "a", count: 300)
            let events = (1...100).map { number in
                #"{"eventType":"complete","sessionID":"s","eventID":"e\#(number)","body":"\#(body)"}"#
            }
            let batch = #"{"secret":"\#(Self.secret)","events":[\#(events.joined(separator: ","))]}"#
            #expect((16 * 1_024...64 * 1_024).contains(batch.utf8.count))
            let first = try await stack.http.post("/v1/events", batch)
            let results = try #require(try first.json()["results"]?.array)
            #expect(results.count == 100 && results.allSatisfy { $0["status"] == 200 && $0["sent"] == 1 })
            let second = try await stack.http.post("/v1/events", batch).json()
            #expect(second["results"]?.array == results)
            #expect(try await stack.control.pushes().count == 100)
        }
    }

    @Test("Client addresses are taken from trusted proxies only")
    func strangers() async throws {
        let limit = ["RELAY_UNKNOWN_SECRETS_PER_MINUTE": "1"]
        func statuses(_ stack: Stack) async throws -> [Int] {
            var statuses: [Int] = []
            for client in ["198.51.100.1", "198.51.100.2", "198.51.100.2"] {
                let answer = try await stack.http.send(
                    "POST", "/v1/event", body: Self.event,
                    headers: ["X-Forwarded-For: 203.0.113.9, \(client)"])
                statuses.append(answer.status)
            }
            return statuses
        }
        try await Stack.run(limit.merging(["RELAY_TRUSTED_PROXIES": "127.0.0.0/8"]) { $1 }) { stack in
            let found = try await statuses(stack)
            #expect(found == [200, 200, 429])
        }
        try await Stack.run(limit) { stack in
            let found = try await statuses(stack)
            #expect(found == [200, 429, 429])
        }
    }

    @Test("A trusted proxy may have more connections than one address")
    func connections() async throws {
        let cap = ["RELAY_CONNECTIONS_PER_ADDRESS_MAX": "2"]
        func answers(_ stack: Stack, _ count: Int) async throws -> [Bool] {
            var held: [HeldConnection] = []
            var answers: [Bool] = []
            for _ in 0..<count {
                let connection = try await HeldConnection(stack.http)
                answers.append(try await connection.get("/health").hasPrefix("HTTP/1.1 200"))
                held.append(connection)
            }
            for connection in held { await connection.close() }
            return answers
        }
        try await Stack.run(cap) { stack in
            let found = try await answers(stack, 3)
            #expect(found == [true, true, false])
        }
        try await Stack.run(cap.merging(["RELAY_TRUSTED_PROXIES": "127.0.0.1,::1"]) { $1 }) { stack in
            let found = try await answers(stack, 9)
            #expect(found == Array(repeating: true, count: 9))
        }
    }

    @Test("When all connections are in use, a new one replaces the one that has been idle the longest")
    func fullServer() async throws {
        // One loop, because each loop evicts only its own connections.
        try await Stack.run(["RELAY_CONNECTIONS_MAX": "4", "RELAY_LOOPS": "1"]) { stack in
            var held: [HeldConnection] = []
            for _ in 0..<4 {
                let connection = try await HeldConnection(stack.http)
                #expect(try await connection.get("/health").hasPrefix("HTTP/1.1 200"))
                held.append(connection)
            }
            let newcomer = try await HeldConnection(stack.http)
            #expect(try await newcomer.get("/health").hasPrefix("HTTP/1.1 200"))
            await held[0].closed()
            for connection in held.dropFirst() {
                #expect(try await connection.get("/health").hasPrefix("HTTP/1.1 200"))
            }
            for connection in held + [newcomer] { await connection.close() }
            let read = try await stack.metrics()
            #expect(read.value("relay_http_connections_evicted_total") == 1)
            #expect(read.value("relay_limits_hit_total", ["limit": "connections"]) == 0)
        }
    }

    @Test(
        "Above RELAY_CONNECTIONS_MEMORY_MIB, connections with unfinished requests are closed and others are served"
    )
    func connectionMemory() async throws {
        try await Stack.run(["RELAY_CONNECTIONS_MEMORY_MIB": "4"]) { stack in
            let modest = try await HeldConnection(stack.http)
            #expect(try await modest.get("/health").hasPrefix("HTTP/1.1 200"))
            let unfinished =
                "POST /v1/event HTTP/1.1\r\nHost: relay.test\r\nContent-Length: 16000\r\n\r\n"
                + String(repeating: "x", count: 15_000)
            var held: [HeldConnection] = []
            for _ in 0..<500 {
                let connection = try await HeldConnection(stack.http)
                await connection.send(unfinished)
                held.append(connection)
            }
            await held[0].closed()
            #expect(try await modest.get("/health").hasPrefix("HTTP/1.1 200"))
            #expect(try await stack.http.get("/health").status == 200)
            // What was sent last may not have been read yet.
            let read = try await eventually {
                try await stack.metrics()
            } until: {
                $0.value("relay_http_connections_evicted_total") ?? 0 > 100
            }
            #expect(read.value("relay_http_connections_memory_bytes") ?? .infinity < 5 * 1_048_576)
            #expect(read.value("relay_http_connections_memory_max_bytes") == 4_194_304)
            for connection in held + [modest] { await connection.close() }
        }
    }

    @Test(
        "Over RELAY_PUSHES_MAX events are refused before anything is sent; below it they pass at once")
    func overload() async throws {
        let settings = ["RELAY_PUSHES_MAX": "20", "RELAY_LOOPS": "2"]
        try await Stack.run(settings, simulator: ["--latency", "400ms"]) { stack in
            for number in 0..<5 { try await stack.register(Self.secret, token(number)) }
            let answers = try await withThrowingTaskGroup(of: HTTPClient.Answer.self) { group in
                for _ in 0..<60 { group.addTask { try await stack.http.post("/v1/event", Self.event) } }
                return try await group.reduce(into: [HTTPClient.Answer]()) { $0.append($1) }
            }
            let refused = answers.filter { $0.status == 503 }
            for answer in refused {
                #expect(try answer.json()["code"] == "overloaded")
                #expect(answer.headers["retry-after"] == "1")
            }
            let results = try answers.filter { $0.status == 200 }.map { try EventResult($0.json()) }
            #expect(!refused.isEmpty && !results.isEmpty && refused.count + results.count == 60)
            #expect(results.allSatisfy { $0.sent == 5 && $0.deliveries.count == 5 })
            #expect(try await stack.control.pushes().count == 5 * results.count)
            // Everything has been answered, so there is as much room as before.
            #expect(try await stack.event(Self.secret).sent == 5)
        }
    }

    @Test("An event with more devices than RELAY_PUSHES_MAX is sent as a whole if no other push is in flight")
    func oneLargeEvent() async throws {
        let settings = ["RELAY_PUSHES_MAX": "2", "RELAY_LOOPS": "2", "RELAY_QUEUE_MAX": "0"]
        try await Stack.run(settings) { stack in
            for number in 0..<20 { try await stack.register(Self.secret, token(number)) }
            #expect(try await stack.event(Self.secret).sent == 20)
        }
    }
}
