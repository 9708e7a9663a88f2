import APNs
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

/// Preferences that a relay doesn't know; the fixture's clock stands at 2027-01-15T08:00:00Z.
@Suite("Preferences that the relay doesn't know", .timeLimit(.minutes(2)))
struct UnknownPreferencesTests {
    private func register(
        _ relay: RelayFixture, _ preferences: JSON.Value, token: String = "aa00"
    ) async -> Response {
        await relay.post(
            "/v1/device/register",
            [
                "secret": .string(RelayFixture.secret), "deviceToken": .string(token),
                "preferences": preferences,
            ])
    }

    private func listed(_ relay: RelayFixture) async -> JSON.Value? {
        await relay.post("/v1/device/list", ["secret": .string(RelayFixture.secret)]).json["devices"]?.array?
            .first
    }

    private static let hours: JSON.Value = ["from": "22:00", "to": "07:00", "timeZone": "Mars/Olympus"]

    @Test(
        "An unknown value costs the preference, not the registration; answer and list name it",
        arguments: [
            (["quietHours": hours], ["quietHours.timeZone"]),
            (["timeZone": ""], ["timeZone"]),
            (["timeZone": "Europe/Atlantis", "perHour": 3], ["timeZone"]),
            (["badge": "all"], ["badge"]),
            (["eventTypes": ["error", "Session.Idle", ""]], ["eventTypes"]),
            (
                ["quietHours": ["from": "22:00", "to": "07:00", "timeZone": "UTC", "mode": "never"]],
                ["quietHours.mode"]
            ),
            (
                ["badge": "all", "eventTypes": ["Start"], "quietHours": hours],
                ["eventTypes", "quietHours.timeZone", "badge"]
            ),
        ] as [(JSON.Value, [String])])
    func ignored(preferences: JSON.Value, fields: [String]) async throws {
        try await RelayFixture.with { relay in
            let ignored = JSON.Value.array(fields.map { .string("preferences.\($0)") })
            let answer = await register(relay, preferences)
            #expect(
                answer.status == .ok && answer.json == ["ok": true, "ignored": ignored], "\(answer.json)")
            #expect(await listed(relay)?["ignored"] == ignored)
            // Known preferences are stored as they were sent.
            #expect(await register(relay, ["perHour": 5]).json == ["ok": true])
            #expect(await listed(relay)?["ignored"] == nil)
            let lines = try await relay.lines.closed().filter { $0["event"] == "request" }
            let names = fields.map { "preferences.\($0)" }.joined(separator: " ")
            #expect(lines.compactMap { $0["ignored"] } == [.string(names)])
        }
    }

    @Test("The known event types of a list count; a list without any mutes nothing")
    func eventTypes() async throws {
        try await RelayFixture.with { relay in
            _ = await register(relay, ["eventTypes": ["error", "Session.Idle"]])
            #expect(await relay.event(["eventType": "complete"]).json["muted"] == 1)
            #expect(await relay.event(["eventType": "error"]).json["sent"] == 1)
            _ = await register(relay, ["eventTypes": ["Session.Idle"]])
            #expect(await relay.event(["eventType": "complete"]).json["sent"] == 1)
        }
    }

    @Test("Quiet hours in an unknown zone are in the device's own, or don't apply and the log says so")
    func quietHours() async throws {
        try await RelayFixture.with { relay in
            let now: JSON.Value = ["from": "07:00", "to": "09:00", "timeZone": "Mars/Olympus"]
            _ = await register(relay, ["quietHours": now, "timeZone": "UTC"], token: "aa00")
            _ = await register(relay, ["quietHours": now], token: "bb00")
            for _ in 0..<2 { #expect(await relay.event().json["sent"] == 2) }
            let pushes = await relay.onLoop { $0.production.pushes }
            let levels = try pushes.prefix(2).map {
                try JSON.parse($0.notification.payload, maxBytes: 4096)["aps"]?["interruption-level"]
            }
            #expect(levels == ["passive", nil])
            let warned = try await relay.lines.closed().filter { $0["event"] == "time_zone.unknown" }
            #expect(warned.map { $0["time_zone"] } == ["Mars/Olympus"])
            #expect(warned.map { $0["level"] } == ["warning"])
        }
    }

    @Test("Old names and offsets that phones report are known")
    func known() async throws {
        try await RelayFixture.with { relay in
            for name in ["Asia/Calcutta", "+05:30", "GMT+5:30", "UTC+2", "Etc/GMT-3"] {
                let wanted: JSON.Value = [
                    "timeZone": .string(name),
                    "quietHours": ["from": "22:00", "to": "07:00", "timeZone": .string(name)],
                ]
                #expect(await register(relay, wanted).json == ["ok": true], "\(name)")
                #expect(await listed(relay)?["preferences"]?["timeZone"] == .string(name))
            }
        }
    }

    @Test("relay check names the preferences of a secret's devices that have no effect")
    func deviceCheck() {
        func findings(_ preferences: DevicePreferences) -> [CheckFinding] {
            let device = Device(
                id: "d", secretHash: RelayFixture.key.primary, token: "aa00", bundleID: "a",
                environment: .production, createdAt: 0, updatedAt: 0,
                details: DeviceDetails(preferences: String(decoding: preferences.json, as: UTF8.self)))
            return DeviceCheck.findings([device], last: [], newest: nil, apps: nil)
        }
        #expect(findings(DevicePreferences(timeZone: "Asia/Calcutta")).map(\.fault) == [nil])
        var wanted = DevicePreferences(timeZone: "Mars/Olympus")
        wanted.unknown = [.preferencesBadge]
        let found = findings(wanted)
        #expect(found.map(\.fault) == [nil, .preferencesIgnored] && found.last?.status == .warning)
        #expect(found.last?.text.contains("preferences.badge, preferences.timeZone \"Mars/Olympus\"") == true)
    }

    @Test("relay check counts the devices whose time zone the system doesn't know, and names the zones")
    func zoneCheck() {
        var check = TimeZoneCheck()
        let texts = [
            #"{"timeZone":"Europe/Berlin"}"#, "{}", #"{"timeZone":"Mars/Olympus"}"#,
            #"{"timeZone":"Mars/Olympus","quietHours":{"from":"22:00","to":"07:00","timeZone":"Mars/Olympus"}}"#,
            #"{"timeZone":"Europe/Atlantis"}"#,
        ]
        check.note(PreferencesPage(looked: 2, texts: Array(texts[..<2])))
        #expect(check.finding(isWhole: true) == nil)
        check.note(PreferencesPage(looked: 4, texts: Array(texts[2...])))
        let whole = check.finding(isWhole: true)
        #expect(whole?.fault == .timeZonesUnknown && whole?.status == .warning)
        #expect(
            whole?.text
                == "3 of 6 devices have a time zone that this system doesn't know: Mars/Olympus (2), "
                + "Europe/Atlantis (1)")
        #expect(check.finding(isWhole: false)?.text.hasPrefix("3 of the first 6 devices") == true)
    }
}
