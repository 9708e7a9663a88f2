import APNsSimulator
import ChildProcess
import Foundation
import JSON
import Testing

@Suite("Under load", .serialized, .timeLimit(.minutes(2)))
struct LoadTests {
    private func h2load(
        _ simulator: RunningSimulator, pushes: Int, connections: Int, streams: Int
    ) async throws -> String {
        let file = simulator.directory.file("payload")
        try RunningSimulator.payload.write(toFile: file, atomically: true, encoding: .utf8)
        let now = Int64(Date().timeIntervalSince1970)
        let result = try await Tool.h2load.run([
            "-n", String(pushes), "-c", String(connections), "-m", String(streams), "-d", file,
            "-H", "authorization: bearer " + PushFixture.unsignedToken(issuedAt: now),
            "-H", "apns-topic: com.example.app", "-H", "apns-push-type: alert",
            simulator.url(.production) + "/3/device/abcdef",
        ])
        return result.output
    }

    @Test("Every push of h2load is accepted and counted", arguments: [1, 2])
    func everyPush(loops: Int) async throws {
        let simulator = try await RunningSimulator(["--initial-streams", "100", "--loops", String(loops)])
        let output = try await h2load(simulator, pushes: 5_000, connections: 4, streams: 50)
        #expect(output.contains("5000 succeeded, 0 failed"))
        #expect(output.contains("status codes: 5000 2xx"))
        // The simulator may notice the connections' ends later.
        let all = try await simulator.stats { $0["production"]?["connections"]?["open"]?.int == 0 }
        let stats = all["production"]
        #expect(stats?["accepted"]?.int == 5_000 && stats?["pushes"]?.int == 5_000)
        #expect(stats?["connections"]?["opened"]?.int == 4 && stats?["connections"]?["open"]?.int == 0)
        #expect(try await simulator.stop() == 0)
    }

    @Test("A client limited to one stream is primed and served")
    func oneStream() async throws {
        let simulator = try await RunningSimulator()
        let output = try await h2load(simulator, pushes: 500, connections: 2, streams: 1)
        #expect(output.contains("status codes: 500 2xx"))
    }

    @Test("A share of the pushes is refused, and latency holds under load")
    func shareUnderLoad() async throws {
        let simulator = try await RunningSimulator([
            "--initial-streams", "200", "--latency", "1ms-20ms", "--rule",
            #"{"id":"some","share":0.25,"reason":"TooManyRequests"}"#,
        ])
        let output = try await h2load(simulator, pushes: 4_000, connections: 1, streams: 200)
        #expect(output.contains("4000 succeeded, 0 failed") || output.contains("4000 done"))
        let stats = try await simulator.control("GET", "/stats")["production"]
        let refused = try #require(stats?["reasons"]?["TooManyRequests"]?.int)
        #expect(stats?["accepted"]?.int == 4_000 - refused)
        // Five standard deviations of the binomial distribution with n = 4,000 and p = 0.25.
        #expect((1_000 - 137...1_000 + 137).contains(refused))
    }

    @Test("Stopping is fast even while pushes wait for their answers")
    func stopUnderLoad() async throws {
        let simulator = try await RunningSimulator(["--initial-streams", "100", "--latency", "300s"])
        async let output = h2load(simulator, pushes: 100, connections: 1, streams: 100)
        _ = try await simulator.firstConnection(streams: 100)
        let clock = ContinuousClock()
        let start = clock.now
        #expect(try await simulator.stop() == 0)
        #expect(clock.now - start < .seconds(20))
        _ = try await output
    }
}
