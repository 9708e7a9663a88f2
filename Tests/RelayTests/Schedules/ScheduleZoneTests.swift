import APNs
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("Schedules in time zones", .timeLimit(.minutes(2)))
struct ScheduleZoneTests {
    // The fixture's clock stands at 2027-01-15T08:00:00Z.

    private func register(_ relay: RelayFixture, _ token: String, _ preferences: JSON.Value? = nil) async {
        var body: JSON.Object = .init()
        body["secret"] = .string(RelayFixture.secret)
        body["deviceToken"] = .string(token)
        body["preferences"] = preferences
        #expect(await relay.post("/v1/device/register", .object(body)).status == .ok)
        relay.pass(.milliseconds(1))
    }

    @Test("In its own time each device gets it once, and one without a zone with the last that has one")
    func devices() async throws {
        try await RelayFixture.with { relay in
            await register(relay, "aa00", ["timeZone": "America/New_York"])
            let hours: JSON.Value = ["from": "22:00", "to": "07:00", "timeZone": "Europe/Berlin"]
            await register(relay, "bb00", ["quietHours": hours])
            await register(relay, "cc00")
            let created = await relay.post(
                "/v1/schedule/create",
                [
                    "secret": .string(RelayFixture.secret), "notification": ["title": "Morning"], "window": 0,
                    "every": ["unit": "day", "at": ["09:00"], "timeZone": "device"],
                ])
            #expect(created.json["nextAt"] == "2027-01-15T14:00:00.000Z")
            func tokens() async -> [String] {
                await relay.onLoop { $0.production.pushes.map(\.deviceToken.text) }
            }
            relay.pass(.seconds(6 * 3_600))
            try await relay.withScheduleWorker { worker in
                #expect(await eventually { relay.schedules.first?.lastOutcome == "sent" })
                #expect(await tokens() == ["aa00"])
                // 09:00 in Berlin.
                #expect(relay.schedules.first?.nextAt == RelayFixture.start + 86_400_000)
                #expect(relay.schedules.first.map { $0.dueAt < $0.nextAt } == true)
                relay.pass(.seconds(18 * 3_600))
                await relay.loop.run { _ in worker.value.look() }
                #expect(await eventually { await tokens().count == 3 })
                #expect(await Set(tokens().dropFirst()) == ["bb00", "cc00"])
            }
        }
    }

    @Test("A device whose zone isn't known follows the last that has one, and the log says so once")
    func unknownDeviceZone() async throws {
        try await RelayFixture.with { relay in
            await register(relay, "aa00", ["timeZone": "Europe/Berlin"])
            await register(relay, "bb00", ["timeZone": "Europe/Atlantis"])
            let created = await relay.post(
                "/v1/schedule/create",
                [
                    "secret": .string(RelayFixture.secret), "notification": ["title": "Morning"], "window": 0,
                    "every": ["unit": "day", "at": ["09:15"], "timeZone": "device"],
                ])
            #expect(created.json["nextAt"] == "2027-01-15T08:15:00.000Z")
            relay.pass(.seconds(900))
            try await relay.withScheduleWorker { _ in
                #expect(await eventually { relay.schedules.first?.lastOutcome == "sent" })
                #expect(await relay.onLoop { $0.production.pushes.count } == 2)
            }
            await relay.lines.log.close()
            #expect(relay.lines.count(of: "time_zone.unknown") == 1)
        }
    }

    @Test("Renewed time zones are read from the system again")
    func renewed() async throws {
        try await RelayFixture.with { relay in
            let before = await relay.onLoop { $0.services.rules.timeZones }
            #expect(await relay.onLoop { $0.services.rules.timeZones } === before)
            await relay.onLoop { $0.services.renewTimeZones() }
            #expect(await relay.onLoop { $0.services.rules.timeZones } !== before)
        }
    }

    @Test("In a zone that this relay doesn't know, nothing is sent and the schedule stays")
    func unknownZone() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let rule = Recurrence(
                unit: .day, interval: 1, times: [480], zone: .named("Europe/Atlantis"), until: nil,
                start: RelayFixture.start)
            try await relay.schedule(rule: rule.json)
            try await relay.withScheduleWorker { _ in
                #expect(await eventually { relay.schedules.first?.lastOutcome == "unknown_time_zone" })
            }
            let row = try #require(relay.schedules.first)
            #expect(row.nextAt == RelayFixture.start && row.dueAt == RelayFixture.start + 3_600_000)
            #expect(await relay.onLoop { $0.production.pushes.isEmpty })
        }
    }
}
