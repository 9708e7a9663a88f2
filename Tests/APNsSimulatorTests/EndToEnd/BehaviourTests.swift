import APNsSimulator
import ChildProcess
import Foundation
import JSON
import Testing

@Suite("Scripted behaviour on the wire", .serialized, .timeLimit(.minutes(2)))
struct BehaviourTests {
    @Test("Rules answer with retry-after, without a body or with another body")
    func answers() async throws {
        let simulator = try await RunningSimulator([
            "--rule", #"{"match":{"token":"a1"},"reason":"TooManyRequests","retryAfter":7}"#,
            "--rule", #"{"match":{"token":"a2"},"status":503,"body":false}"#,
            "--rule", #"{"match":{"token":"a3"},"status":502,"body":"<html>"}"#,
            "--rule", #"{"match":{"token":"a4"},"reason":"InternalServerError","count":1}"#,
        ])
        let busy = try await simulator.push(to: "a1")
        #expect(busy.status == 429 && busy.reason == "TooManyRequests" && busy.headers["retry-after"] == "7")
        let empty = try await simulator.push(to: "a2")
        #expect(empty.status == 503 && empty.body.isEmpty)
        let page = try await simulator.push(to: "a3")
        #expect(page.status == 502 && page.body == "<html>")
        #expect(try await simulator.push(to: "a4").status == 500)
        #expect(try await simulator.push(to: "a4").status == 200)
        let rules = try await simulator.control("GET", "/rules")["rules"]?.array ?? []
        #expect(rules.map { $0["hits"]?.int } == [1, 1, 1, 1])
        #expect(
            try await simulator.pushes().map { $0["rule"]?.string } == [
                "rule-1", "rule-2", "rule-3", "rule-4", nil,
            ])
    }

    @Test("Rules reset streams, refuse streams and close connections")
    func resets() async throws {
        let simulator = try await RunningSimulator()
        let rules = """
            {"rules": [
              {"id": "reset", "match": {"token": "b1"}, "action": "reset", "errorCode": "ENHANCE_YOUR_CALM"},
              {"id": "refuse", "match": {"token": "b2"}, "action": "refuse", "count": 1},
              {"id": "close", "match": {"token": "b3"}, "action": "close"}]}
            """
        try await simulator.control("PUT", "/rules", rules)
        #expect(try await simulator.push(to: "b1").curl == 92)
        // curl retries a refused push on its own.
        #expect(try await simulator.push(to: "b2").status == 200)
        #expect(try await simulator.push(to: "b3").curl != 0)
        let pushes = try await simulator.pushes()
        #expect(pushes.map { $0["outcome"]?.string } == ["reset", "reset", "answered", "closed"])
        #expect(pushes.map { $0["errorCode"]?.string } == ["ENHANCE_YOUR_CALM", "REFUSED_STREAM", nil, nil])
        let stats = try await simulator.control("GET", "/stats")["production"]
        #expect(stats?["pushes"]?.int == 4 && stats?["accepted"]?.int == 1 && stats?["reset"]?.int == 2)
        #expect(stats?["closed"]?.int == 1)
    }

    @Test("A stalled push is never answered; others are")
    func stalledPush() async throws {
        let simulator = try await RunningSimulator()
        try await simulator.control("PUT", "/rules", #"{"id":"s","match":{"token":"c1"},"action":"stall"}"#)
        // Long enough for the push to arrive.
        #expect(try await simulator.push(to: "c1", maxSeconds: 5).curl == 28)
        #expect(try await simulator.push(to: "c2").status == 200)
        #expect(try await simulator.pushes().map { $0["outcome"]?.string } == ["stalled", "answered"])
    }

    @Test("Latency delays the answers to all pushes or to a rule's")
    func latency() async throws {
        let simulator = try await RunningSimulator(["--latency", "300ms"])
        try await simulator.control("PUT", "/rules", #"{"id":"fast","match":{"token":"d1"},"latency":0}"#)
        let clock = ContinuousClock()
        let start = clock.now
        #expect(try await simulator.push(to: "d2").status == 200)
        #expect(clock.now - start >= .milliseconds(300))
        // Only the push that matches the rule can be answered within its time limit, which is below the latency.
        try await simulator.control("PUT", "/limits", #"{"latency":"60s"}"#)
        #expect(try await simulator.push(to: "d1", maxSeconds: 20).status == 200)
        #expect(try await simulator.push(to: "d2", maxSeconds: 5).curl == 28)
        let abandoned = try await simulator.control("GET", "/pushes?since=2&wait=30")["pushes"]?.array
        #expect(abandoned?.last?["outcome"]?.string == "abandoned")
    }

    @Test("A stalled simulator answers nothing until it resumes")
    func blackHole() async throws {
        let simulator = try await RunningSimulator()
        try await simulator.control("POST", "/stall", #"{"includeNew":true,"environment":"production"}"#)
        #expect(try await simulator.push(maxSeconds: 0.5).curl == 28)
        #expect(try await simulator.push(in: .sandbox, [:]).status == 200)
        try await simulator.control("POST", "/resume")
        #expect(try await simulator.push().status == 200)
    }

    @Test("A stalled connection resumes where it stopped")
    func stallAndResume() async throws {
        let simulator = try await RunningSimulator(["--latency", "5s"])
        async let answer = simulator.push()
        let connection = try await simulator.firstConnection()
        let stalled = try await simulator.control("POST", "/stall", "{\"connection\":\(connection)}")
        #expect(stalled["connections"]?.int == 1)
        let info = try await simulator.control("GET", "/connections")["connections"]?.array?.first
        #expect(info?["stalled"]?.bool == true)
        // The answer becomes due while the connection is stalled.
        _ = try await simulator.control("GET", "/pushes?wait=30")
        try await simulator.control("POST", "/resume")
        #expect(try await answer.status == 200)
    }

    @Test("Connections are closed and new ones refused on demand")
    func close() async throws {
        let simulator = try await RunningSimulator(["--latency", "30s"])
        async let answer = simulator.push()
        _ = try await simulator.firstConnection()
        #expect(try await simulator.control("POST", "/close")["connections"]?.int == 1)
        #expect(try await answer.curl != 0)
        try await simulator.control("PUT", "/limits", #"{"acceptConnections":false,"latency":0}"#)
        #expect(try await simulator.push().curl != 0)
        try await simulator.control("DELETE", "/limits")
        let stats = try await simulator.control("GET", "/stats")["production"]
        #expect(stats?["abandoned"]?.int == 1)
        #expect(stats?["connections"]?["refused"]?.int == 1)
    }

    /// The frames that `nghttp -v` prints for one connection with several pushes.
    private func frames(_ simulator: RunningSimulator, pushes: Int) async throws -> String {
        let file = simulator.directory.file("payload")
        try RunningSimulator.payload.write(toFile: file, atomically: true, encoding: .utf8)
        let now = Int64(Date().timeIntervalSince1970)
        let headers = [
            ":method: POST", "authorization: bearer " + PushFixture.unsignedToken(issuedAt: now),
            "apns-topic: com.example.app",
        ]
        let urls = (0..<pushes).map { simulator.url(.production) + "/3/device/e\($0)" }
        let arguments = ["-v", "-n", "-t", "30", "-d", file] + headers.flatMap { ["-H", $0] } + urls
        return try await Tool.nghttp.run(arguments).output
    }

    @Test("A client may open few streams at first and many after its first success")
    func streamLimit() async throws {
        let simulator = try await RunningSimulator(["--initial-streams", "2", "--streams", "77"])
        let frames = try await frames(simulator, pushes: 1)
        let first = try #require(frames.firstRange(of: "[SETTINGS_MAX_CONCURRENT_STREAMS(0x03):2]"))
        let second = try #require(frames.firstRange(of: "[SETTINGS_MAX_CONCURRENT_STREAMS(0x03):77]"))
        let success = try #require(frames.firstRange(of: ":status: 200"))
        #expect(first.upperBound < success.lowerBound && first.upperBound < second.lowerBound)
    }

    @Test("A refused push does not raise the limit, and PUT /limits lowers it on open connections")
    func liveStreamLimit() async throws {
        let simulator = try await RunningSimulator(["--latency", "5s"])
        async let frames = frames(simulator, pushes: 1)
        _ = try await simulator.firstConnection()
        try await simulator.control("PUT", "/limits", #"{"initialStreams":3,"latency":0}"#)
        #expect(try await frames.contains("[SETTINGS_MAX_CONCURRENT_STREAMS(0x03):3]"))
        try await simulator.control("PUT", "/rules", #"{"reason":"InternalServerError"}"#)
        let refused = try await self.frames(simulator, pushes: 1)
        #expect(!refused.contains("[SETTINGS_MAX_CONCURRENT_STREAMS(0x03):1000]"))
    }

    @Test("POST /streams lowers the limit of open connections only, down to 0, even after a first success")
    func streamLimitOfOpenConnections() async throws {
        let simulator = try await RunningSimulator(["--latency", "5s"])
        async let frames = frames(simulator, pushes: 1)
        _ = try await simulator.firstConnection()
        #expect(try await simulator.control("POST", "/streams", #"{"limit":0}"#)["connections"]?.int == 1)
        try await simulator.control("PUT", "/limits", #"{"latency":0}"#)
        let text = try await frames
        #expect(text.contains("[SETTINGS_MAX_CONCURRENT_STREAMS(0x03):0]"))
        #expect(!text.contains("[SETTINGS_MAX_CONCURRENT_STREAMS(0x03):1000]"))
        #expect(
            try await self.frames(simulator, pushes: 1)
                .contains("[SETTINGS_MAX_CONCURRENT_STREAMS(0x03):1000]"))
    }

    @Test("GOAWAY has a reason and a last stream; excluded pushes are not processed")
    func goAway() async throws {
        let simulator = try await RunningSimulator(["--latency", "30s", "--initial-streams", "10"])
        async let frames = frames(simulator, pushes: 2)
        let connection = try await simulator.firstConnection(streams: 2)
        try await simulator.control(
            "POST", "/goaway",
            "{\"connection\":\(connection),\"reason\":\"Shutdown\",\"lastStream\":\"answered\"}")
        let text = try await frames
        #expect(text.contains("recv GOAWAY frame"))
        #expect(
            text.contains(
                "last_stream_id=0, error_code=NO_ERROR(0x00), opaque_data(21)=[{\"reason\":\"Shutdown\"}]"))
        let pushes = try await simulator.control("GET", "/pushes?wait=10")["pushes"]?.array ?? []
        #expect(pushes.allSatisfy { $0["outcome"]?.string == "abandoned" })
    }
}

extension RunningSimulator {
    /// The number of the first connection, once it is open with this many streams.
    func firstConnection(streams: Int = 1) async throws -> Int {
        for _ in 0..<400 {
            let list = try await control("GET", "/connections")["connections"]?.array ?? []
            let isReady = { (info: JSON.Value) in (info["openStreams"]?.int ?? 0) >= streams }
            if let number = list.first(where: isReady)?["connection"]?.int { return number }
        }
        throw Printout.Ended(description: "no connection with \(streams) open streams")
    }
}
