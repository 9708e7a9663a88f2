import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("RELAY_DEVICES_MAX", .timeLimit(.minutes(2)))
struct DeviceTotalTests {
    private func fixture(max: Int, _ body: (RelayFixture) async throws -> Void) async throws {
        var options = RelayFixture.Options()
        options.devicesMax = max
        try await RelayFixture.with(options, body)
    }

    private static func register(_ relay: RelayFixture, _ number: Int, _ token: String) async -> Response {
        await relay.post(
            "/v1/device/register",
            ["secret": .string("a-secret-of-the-test-\(number)"), "deviceToken": .string(token)])
    }

    @Test(
        "New devices beyond it are refused, registered ones refresh, and there is room again once one has left"
    )
    func full() async throws {
        try await fixture(max: 2) { relay in
            for number in 0..<2 { #expect(await Self.register(relay, number, "aa00").status == 200) }
            for (number, token) in [(2, "aa00"), (0, "bb00")] {
                let refused = await Self.register(relay, number, token)
                #expect(refused.status == 503 && refused.json["code"] == "relay_full")
                #expect(refused.headers["Retry-After"] == "600")
            }
            #expect(await Self.register(relay, 0, "aa00").status == 200)
            #expect(relay.storage.state.withLock(\.devices.count) == 2)
            let samples = await relay.onLoop { $0.services.counts.limitSamples }
            #expect(samples.contains(Metric.Sample(["devices_total"], UInt64(2))))
            let leave: JSON.Value = ["secret": "a-secret-of-the-test-0", "deviceToken": "aa00"]
            #expect(await relay.post("/v1/device/unregister", leave).status == 200)
            relay.pass(Bounds.deviceCountAgeMax)
            #expect(await Self.register(relay, 2, "aa00").status == 200)
            #expect(await Self.register(relay, 3, "aa00").status == 503)
        }
    }

    @Test("Devices are counted once in some seconds, and new ones in between are added up")
    func counts() async throws {
        try await fixture(max: 10) { relay in
            func counts() -> Int { relay.storage.state.withLock(\.deviceCounts) }
            for number in 0..<3 { #expect(await Self.register(relay, number, "aa00").status == 200) }
            #expect(counts() == 1)
            let total = try #require(await relay.onLoop { $0.services.shared.deviceTotal })
            #expect(total.count == 3 && total.max == 10)
            // Other relays also add devices.
            for number in 3..<9 { relay.storage.add("bb0\(number)", under: RelayFixture.key) }
            relay.pass(Bounds.deviceCountAgeMax - .milliseconds(1))
            #expect(await Self.register(relay, 3, "aa00").status == 200)
            #expect(counts() == 1 && total.count == 4)
            relay.pass(.milliseconds(1))
            #expect(await Self.register(relay, 4, "aa00").status == 503)
            #expect(counts() == 2 && total.count == 10)
        }
    }

    @Test("A count that takes long is followed by a long pause")
    func slow() async throws {
        let now = Lock(MonotonicTime(nanoseconds: 1_000_000_000))
        let storage = FakeStorage()
        let total = try #require(
            DeviceTotal(max: 5, storage: storage) {
                // Each reading of the clock takes a second.
                now.withLock { time in
                    time = time + .seconds(1)
                    return time
                }
            })
        try await total.checkRoom()
        now.withLock { $0 = $0 + .seconds(1 * Bounds.deviceCountRest - 2) }
        try await total.checkRoom()
        #expect(storage.state.withLock(\.deviceCounts) == 1)
        try await total.checkRoom()
        #expect(storage.state.withLock(\.deviceCounts) == 2)
    }

    @Test("A database that can't count refuses the new device and is asked again by the next")
    func unavailable() async throws {
        let storage = FakeStorage()
        let total = try #require(DeviceTotal(max: 5, storage: storage))
        storage.state.withLock { $0.failure = .unavailable(logDetail: "x") }
        await #expect(throws: APIError.self) { try await total.checkRoom() }
        storage.state.withLock { $0.failure = nil }
        try await total.checkRoom()
        #expect(total.count == 0)
    }

    @Test("0 is no maximum")
    func off() {
        #expect(DeviceTotal(max: 0, storage: FakeStorage()) == nil)
    }
}
