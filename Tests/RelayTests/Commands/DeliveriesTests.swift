import Programs
import Storage
import Testing

@testable import Relay

@Suite("relay deliveries", .timeLimit(.minutes(2)))
struct DeliveriesTests {
    private static let key = RelayFixture.key

    private func row(_ id: Int, at time: EpochMilliseconds? = nil, device: String? = nil) -> Delivery {
        Delivery(
            id: "id-\(id)", secretHash: Self.key.primary, eventType: "complete", sessionID: "ses_\(id)",
            status: .sent, error: nil, createdAt: time ?? EpochMilliseconds(id), deviceID: device)
    }

    /// Rows with these numbers, newest first.
    private func rows(_ numbers: some Sequence<Int>) -> [Delivery] {
        numbers.map { row($0) }.newestFirst(.max)
    }

    @Test("A log that is followed shows each row once, in the order of time")
    func follow() {
        var follower = LogFollower(seen: rows(0..<3))
        #expect(follower.take(rows(0..<3)) == [])
        #expect(follower.take(rows(0..<5)) == [row(3), row(4)])
        #expect(follower.take(rows(0..<5)) == [])
        #expect(LogFollower(seen: []).goesOn(behind: rows(0..<1), of: 1))
    }

    @Test("A row that comes late is shown, although newer ones were before it")
    func late() {
        var follower = LogFollower(seen: rows([1, 2, 9]))
        let late = row(5)
        #expect(follower.take(rows([1, 2, 5, 9])) == [late])
        #expect(follower.take(rows([1, 2, 5, 9])) == [])
    }

    @Test("Old rows that lie behind what was seen are not new")
    func old() {
        let window = LogFollower.window
        let all = rows(0..<(3 * window))
        var follower = LogFollower(seen: Array(all.prefix(window)))
        // It reads on until it reaches rows that it has already seen.
        #expect(!follower.goesOn(behind: Array(all.prefix(window + 1)), of: window + 1))
        #expect(follower.goesOn(behind: Array(all.prefix(window - 1)), of: window - 1))
        #expect(follower.take(Array(all.prefix(window * 2))) == [])
        let new = row(3 * window)
        #expect(follower.take([new] + all.prefix(window * 2)) == [new])
        // It only remembers the newest row, and continues from there.
        #expect(follower.take([new] + all.prefix(window * 2)) == [])
    }

    @Test("Rows name their device by the end of its token, and one that is gone as that")
    func view() throws {
        let device = Device(
            id: "d1", secretHash: Self.key.primary, token: String(repeating: "ab", count: 32),
            bundleID: "com.example.app", environment: .production, createdAt: 0, updatedAt: 0)
        let view = DeliveryView(devices: [device])
        let all = [row(1, device: "d1"), row(2, device: "d2"), row(3)]
        #expect(all.map(view.knowsDevice) == [true, false, true])
        let lines = view.rows(all, .plain).split(separator: "\n")
        #expect(lines[0] == "1970-01-01 00:00:00  complete    …abababab  sent                  ses_1")
        #expect(lines[1].contains("  gone       sent"))
        #expect(lines[2].contains("  -          sent"))
        #expect(
            view.jsonLines([all[0]])
                == "{\"at\":\"1970-01-01T00:00:00.001Z\",\"eventType\":\"complete\",\"status\":\"sent\","
                + "\"device\":\"…abababab\",\"sessionID\":\"ses_1\",\"id\":\"id-1\"}\n")
        #expect(view.json([]) == "{\"deliveries\":[]}\n")
    }

    @Test("Pages are read until there are enough")
    func pages() async throws {
        let storage = FakeStorage()
        try await storage.append(rows(0..<10))
        #expect(try await storage.newestDeliveries(of: Self.key, count: 4).count == 4)
        #expect(try await storage.newestDeliveries(of: Self.key, count: 40).count == 10)
    }
}

@Suite("relay stats", .timeLimit(.minutes(2)))
struct StatsTests {
    private static let key = RelayFixture.key
    private static let now: EpochMilliseconds = 20_000 * StatsReport.dayMilliseconds + 5_000

    private func row(_ time: EpochMilliseconds, _ error: String? = nil, _ key: SecretKey = key) -> Delivery {
        Delivery(
            id: "\(time)", secretHash: key.primary, eventType: "complete", sessionID: "s",
            status: error == nil ? .sent : .failed, error: error, createdAt: time)
    }

    @Test("Whole days in UTC are counted, today the last, of one secret or all")
    func days() async throws {
        let storage = FakeStorage()
        let other = SecretHasher().key(of: Secret("another"))
        storage.add("aa", under: Self.key)
        storage.add("bb", under: other)
        let today = Self.now - 5_000
        try await storage.append([
            row(today - 1), row(today), row(today + 1, "BadTopic"), row(today + 2, nil, other),
            row(today - StatsReport.dayMilliseconds - 1),
        ])
        let all = try await StatsCount(storage: storage, key: nil).report(days: 2, now: Self.now)
        #expect(all.days.map(\.name) == ["2024-10-03", "2024-10-04"])
        #expect(all.days.map(\.sent) == [1, 2])
        #expect(all.days.map(\.reasons) == [[:], ["BadTopic": 1]])
        #expect(all.now == Census(secrets: 2, devices: 2, waiting: 0))
        let one = try await StatsCount(storage: storage, key: Self.key).report(days: 1, now: Self.now)
        #expect(one.days.map(\.sent) == [1] && one.days.map(\.failed) == [1])
        #expect(one.now == Census(secrets: 1, devices: 1, waiting: 0))
        #expect(one.text(.plain).hasSuffix("\nNow: 1 device; 0 pushes waiting\n"))
    }

    @Test("A day's reasons are bounded, and its most frequent ones shown")
    func reasons() {
        var day = StatsReport.Day(number: 0)
        let failed = Dictionary(uniqueKeysWithValues: (1...500).map { ("Reason\($0)", $0) })
        day.add(DeliveryTally(events: 1, failed: failed, end: 0))
        #expect(day.reasons.count == Bounds.statsReasonsMax + 1)
        #expect(day.failed == 500 * 501 / 2)
        var few = StatsReport.Day(number: 0)
        few.add(DeliveryTally(failed: ["a": 1, "b": 3, "": 2, "c": 1], end: 0))
        #expect(few.reasonsInOrder.map(\.reason) == ["b", "no reason", "a", "c"])
        let text = StatsReport(key: nil, days: [few], now: Census()).text(.plain)
        #expect(text.contains("b 3, no reason 2, a 1, …\n"))
    }
}
