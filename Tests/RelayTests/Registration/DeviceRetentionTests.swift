import JSON
import Network
import Programs
import Storage
import Testing

@testable import Relay

@Suite("Device retention", .timeLimit(.minutes(2)))
struct DeviceRetentionTests {
    private let storage = FakeStorage()
    private let day: EpochMilliseconds = 86_400_000

    private func retention(
        lifetime: Duration? = .seconds(86_400), _ lines: LogLines = LogLines()
    ) -> DeviceRetention {
        let now = 10 * day
        return DeviceRetention(
            storage: storage, log: lines.log, clock: WallClock { now }, lifetime: lifetime)
    }

    /// Runs the rounds that do nothing.
    private func passDelay(_ retention: DeviceRetention) async throws {
        for _ in 0..<Bounds.deviceUpkeepRoundsToWait { try await retention.round { _ in } }
    }

    @Test("Devices that haven't registered for their lifetime are removed, counted and logged; others stay")
    func expiry() async throws {
        storage.add("aa", under: RelayFixture.key, at: 9 * day - 1)
        storage.add("bb", under: RelayFixture.key, at: 9 * day)
        let lines = LogLines()
        let retention = retention(lines)
        try await passDelay(retention)
        try await retention.round { _ in }
        #expect(storage.state.withLock { $0.devices.map(\.token) } == ["bb"])
        #expect(retention.expired == 1)
        let written = try await lines.closed()
        #expect(written.map { $0["event"] } == ["devices.expired"])
        #expect(written.first?["devices"] == 1)
    }

    @Test("Nothing is removed in the first rounds after the start, nor after the clock was set")
    func delay() async throws {
        let retention = retention()
        try await passDelay(retention)
        retention.noteClockStep()
        storage.add("aa", under: RelayFixture.key, at: 0)
        try await passDelay(retention)
        #expect(storage.state.withLock { $0.devices.count } == 1)
        try await retention.round { _ in }
        #expect(storage.state.withLock { $0.devices.isEmpty })
    }

    @Test(
        "Without a lifetime devices stay, and locks are still walked to their end and from the beginning again"
    )
    func unlimited() async throws {
        storage.add("aa", under: RelayFixture.key, at: 0)
        let retention = retention(lifetime: nil)
        try await passDelay(retention)
        for _ in 0..<2 { try await retention.round { _ in } }
        #expect(storage.state.withLock { $0.devices.count } == 1)
        #expect(storage.state.withLock { $0.lockWalks } == ["", "1", "2", "", "4", "5"])
        #expect(retention.locksRemoved == 6)
    }

    @Test("A round is bounded, and the next goes on from there")
    func bounded() async throws {
        let count = Bounds.deviceUpkeepSteps * Bounds.deviceUpkeepRowsPerStep
        let devices = (0..<(count + 5)).map { index in
            Device(
                id: "\(index)", secretHash: RelayFixture.key.primary, token: "\(1_000_000 + index)",
                bundleID: "org.example.app", environment: .production, createdAt: 0,
                updatedAt: index < count ? 10 * day : 0)
        }
        storage.state.withLock { $0.insert(devices) }
        let retention = retention()
        try await passDelay(retention)
        try await retention.round { _ in }
        #expect(retention.expired == 0)
        try await retention.round { _ in }
        #expect(retention.expired == 5)
    }

    @Test(
        "Maintenance removes devices in its rounds, and tells when the clock was set", arguments: [0, 5_000])
    func maintenance(hoursSet: Int) async throws {
        storage.add("aa", under: RelayFixture.key, at: 0)
        let intervals = Lock(0)
        let retention = retention()
        let start = MonotonicTime(nanoseconds: 0)
        let maintenance = Maintenance(
            storage: storage, log: LogLines().log,
            clock: WallClock {
                let seconds = intervals.withLock { $0 * 600 + ($0 >= 7 ? hoursSet * 3_600 : 0) }
                return EpochMilliseconds(seconds) * 1_000
            },
            monotonic: { start + .seconds(intervals.withLock { $0 } * 600) }, retention: .seconds(60),
            devices: retention
        ) { time in
            guard time == Bounds.upkeepInterval else { return }
            let count = intervals.withLock { intervals in
                intervals += 1
                return intervals
            }
            // Without a step, the seventh round removes devices; after one in that round, the fourteenth would.
            if count > 2 * Bounds.deviceUpkeepRoundsToWait + 1 { throw CancellationError() }
        }
        await maintenance.run()
        #expect(retention.expired == (hoursSet == 0 ? 1 : 0))
    }

    @Test("A storage error ends the round with a warning")
    func failure() async throws {
        storage.state.withLock { $0.failure = .unavailable(logDetail: "x") }
        let lines = LogLines()
        let retention = retention(lines)
        try await passDelay(retention)
        try await retention.round { _ in }
        #expect(try await lines.closed().map { $0["event"] } == ["maintenance.failed"])
    }
}
