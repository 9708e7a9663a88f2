import APNsSimulator
import ChildProcess
import JSON
import Testing

@Suite("Answers on the wire", .serialized, .timeLimit(.minutes(2)))
struct AnswerTests {
    @Test("An accepted push gets 200, its apns-id, an empty body and, in the sandbox, a unique id")
    func accepted() async throws {
        let simulator = try await RunningSimulator()
        let id = "123e4567-e89b-12d3-a456-426614174000"
        let production = try await simulator.push(["apns-id": id])
        #expect(production.status == 200 && production.body.isEmpty)
        #expect(production.headers["apns-id"] == id)
        #expect(production.headers["apns-unique-id"] == nil)
        let sandbox = try await simulator.push(in: .sandbox, [:])
        #expect(sandbox.status == 200)
        let ids = [sandbox.headers["apns-id"], sandbox.headers["apns-unique-id"]].compactMap(\.self)
        #expect(ids.count == 2 && ids.allSatisfy { MessageID(canonical: Array($0.utf8)[...]) != nil })
        let pushes = try await simulator.pushes()
        #expect(pushes.map { $0["environment"]?.string } == ["production", "sandbox"])
        #expect(pushes[1]["apnsID"]?.string == ids[0] && pushes[1]["apnsUniqueID"]?.string == ids[1])
    }

    @Test("A refused push gets its status and its reason")
    func refused() async throws {
        let simulator = try await RunningSimulator()
        let cases: [([String: String], Int, String)] = [
            (["authorization": ""], 403, "MissingProviderToken"),
            (["authorization": "bearer x"], 403, "InvalidProviderToken"),
            (["apns-topic": ""], 400, "MissingTopic"), (["apns-priority": "7"], 400, "BadPriority"),
            (["apns-expiration": "x"], 400, "BadExpirationDate"), (["apns-id": "x"], 400, "BadMessageId"),
            (["apns-push-type": "x"], 400, "InvalidPushType"),
            (["apns-collapse-id": String(repeating: "x", count: 65)], 400, "BadCollapseId"),
        ]
        for (headers, status, reason) in cases {
            let answer = try await simulator.push(headers)
            #expect(answer.status == status)
            #expect(answer.body == "{\"reason\":\"\(reason)\"}")
            #expect(answer.headers["apns-id"]?.count == 36)
        }
        #expect(try await simulator.push("", to: "ab").reason == "PayloadEmpty")
        #expect(try await simulator.push("x", to: "ab").reason == "BadRequestPayload")
        #expect(try await simulator.push(to: "abc").reason == "BadDeviceToken")
        #expect(try await simulator.push(to: "").reason == "MissingDeviceToken")
        let large = #"{"aps":{"alert":""# + String(repeating: "x", count: 100_000) + #""}}"#
        let tooLarge = try await simulator.push(large)
        #expect(tooLarge.status == 413 && tooLarge.reason == "PayloadTooLarge")
    }

    @Test("Other paths, other methods and repeated headers are refused")
    func framing() async throws {
        let simulator = try await RunningSimulator()
        func status(_ arguments: [String], _ path: String) async throws -> String {
            let standard = [
                "-sS", "--http2", "--cacert", simulator.certificateFile, "-w", " %{http_code}", "-m", "30",
            ]
            return try await Tool.curl.run(standard + arguments + [simulator.url(.production) + path]).output
        }
        #expect(try await status([], "/") == #"{"reason":"BadPath"} 404"#)
        #expect(try await status([], "/3/device/abcd") == #"{"reason":"MethodNotAllowed"} 405"#)
        let twice = ["-d", "{}", "-H", "apns-topic: com.example.app", "-H", "apns-topic: com.example.app"]
        #expect(try await status(twice, "/3/device/abcd") == #"{"reason":"DuplicateHeaders"} 400"#)
    }

    @Test("Only HTTP/2 over TLS is accepted")
    func otherProtocols() async throws {
        let simulator = try await RunningSimulator()
        let url = simulator.url(.production)
        let old = try await Tool.curl.run([
            "-sS", "--http1.1", "--cacert", simulator.certificateFile, "-m", "30", url,
        ])
        #expect(old.status != 0)
        let untrusting = try await Tool.curl.run(["-sS", "--http2", "-m", "30", url])
        #expect(untrusting.status == 60)
        // The simulator may read curl's alert later.
        let stats = try await simulator.stats {
            $0["production"]?["connections"]?["handshakesFailed"]?.int == 2
        }
        #expect(stats["production"]?["connections"]?["handshakesFailed"]?.int == 2)
        #expect(try await simulator.push().status == 200)
    }

    @Test("Inactive device tokens are answered with 410 and a timestamp, others by environment and topic")
    func deviceTokens() async throws {
        let simulator = try await RunningSimulator([
            "--unknown-tokens", "reject", "--token", #"{"token":"AA"}"#,
        ])
        let tokens = """
            {"tokens": [
              {"token": "b1", "topic": "com.example.app", "environment": "sandbox"},
              {"token": "b2", "state": "unregistered", "since": 1700000000000},
              {"token": "b3", "state": "expired", "since": 1700000000001}]}
            """
        try await simulator.control("PUT", "/tokens", tokens)
        #expect(try await simulator.push(to: "aa").status == 200)
        #expect(try await simulator.push(to: "ff").reason == "BadDeviceToken")
        #expect(try await simulator.push(to: "b1").reason == "BadDeviceToken")
        #expect(try await simulator.push(to: "b1", in: .sandbox).status == 200)
        let topic = try await simulator.push(to: "b1", in: .sandbox, ["apns-topic": "com.example.other"])
        #expect(topic.reason == "DeviceTokenNotForTopic")
        let gone = try await simulator.push(to: "b2")
        #expect(gone.status == 410 && gone.body == #"{"reason":"Unregistered","timestamp":1700000000000}"#)
        let expired = try await simulator.push(to: "b3")
        #expect(
            expired.status == 410 && expired.body == #"{"reason":"ExpiredToken","timestamp":1700000000001}"#)
        try await simulator.control("DELETE", "/tokens?token=b3")
        #expect(try await simulator.push(to: "b3").reason == "BadDeviceToken")
        let known = try await simulator.control("GET", "/tokens")["tokens"]?.array ?? []
        #expect(known.map { $0["token"]?.string } == ["aa", "b1", "b2"])
    }
}
