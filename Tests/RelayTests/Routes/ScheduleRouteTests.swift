import APNs
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("/v1/schedule", .timeLimit(.minutes(2)))
struct ScheduleRouteTests {
    private static func with(
        _ options: RelayFixture.Options = RelayFixture.Options(),
        _ body: (RelayFixture) async throws -> Void
    ) async throws {
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            try await body(relay)
        }
    }

    private static func post(
        _ relay: RelayFixture, _ route: String, _ members: JSON.Value = [:]
    ) async -> Response {
        var body = members.object ?? JSON.Object()
        body["secret"] = .string(RelayFixture.secret)
        return await relay.post("/v1/schedule/\(route)", .object(body))
    }

    /// Schedules a notification, by default in an hour.
    private static func create(_ relay: RelayFixture, _ members: JSON.Value = ["in": 3600]) async -> Response
    {
        var body = members.object ?? JSON.Object()
        if body["notification"] == nil, body["eventType"] == nil {
            body["notification"] = ["title": "Reminder"]
        }
        return await post(relay, "create", .object(body))
    }

    private static func list(_ relay: RelayFixture) async -> [JSON.Value] {
        await post(relay, "list").json["schedules"]?.array ?? []
    }

    // The fixture's clock stands at 2027-01-15T08:00:00Z.

    @Test("A schedule is listed without its text until it is cancelled, by ID or by name")
    func lifecycle() async throws {
        try await Self.with { relay in
            let created = await Self.create(relay, ["in": 3600, "notification": ["title": "Private"]])
            #expect(created.status == .ok)
            #expect(created.json["nextAt"] == "2027-01-15T09:00:00.000Z")
            let id = try #require(created.json["id"])
            let every: JSON.Value = [
                "unit": "week", "on": ["mon"], "at": ["08:00"], "timeZone": "Europe/Berlin",
            ]
            let weekly = await Self.create(relay, ["every": every, "name": "weekly", "lateBy": 60])
            #expect(weekly.json["nextAt"] == "2027-01-18T07:00:00.000Z")
            let response = await Self.post(relay, "list")
            let listed = try #require(response.json["schedules"]?.array)
            #expect(listed.count == 2 && listed[0]["id"] == id && listed[0]["every"] == nil)
            #expect(listed[1]["name"] == "weekly" && listed[1]["every"]?["on"] == ["mon"])
            #expect(listed[1]["every"]?["start"] == nil && listed[1]["skipped"] == 0)
            #expect(!String(decoding: response.body, as: UTF8.self).contains("Private"))
            #expect(await Self.post(relay, "cancel", ["id": id]).json == ["ok": true, "cancelled": 1])
            #expect(await Self.post(relay, "cancel", ["id": id]).json == ["ok": true, "cancelled": 0])
            let byName = await Self.post(relay, "cancel", ["name": "weekly"])
            #expect(byName.json == ["ok": true, "cancelled": 1])
            #expect(await Self.list(relay).isEmpty)
        }
    }

    @Test("What is sent is stored as it came, without the secret")
    func content() async throws {
        try await Self.with { relay in
            let event: JSON.Value = [
                "in": 60, "eventType": "error", "sessionID": "s", "title": "T", "window": 5, "lateBy": 7,
                "deviceToken": "aa00", "x": 1,
            ]
            #expect(await Self.create(relay, event).status == .ok)
            let row = try #require(relay.storage.state.withLock { $0.schedules.first?.schedule })
            let stored = try #require(StoredDispatch(json: row.content))
            let body: JSON.Value = ["eventType": "error", "sessionID": "s", "title": "T"]
            #expect(.object(stored.content.body) == body && stored.token?.text == "aa00")
            #expect(row.window == 5_000 && row.lateBy == 7_000 && row.rule == nil)
            #expect(!row.content.contains(RelayFixture.secret))
        }
    }

    @Test("The content is refused for what the routes refuse it for")
    func badContent() async throws {
        try await Self.with { relay in
            let long = JSON.Value.string(String(repeating: "é", count: 2500))
            let expected: [(JSON.Value, String, String?)] = [
                (["notification": ["title": long], "shorten": false], "payload_too_large", "notification"),
                (["notification": ["title": ""]], "invalid_field", "notification"),
                (["notification": [:]], "invalid_field", "notification"),
                (["notification": ["title": "t", "badge": "unread"]], "history_off", "notification.badge"),
                (["eventType": "begin", "sessionID": "s"], "invalid_field", "eventType"),
                (
                    ["eventType": "start", "sessionID": "s", "contentState": [:]], "invalid_field",
                    "eventType"
                ),
                (["eventType": "error"], "missing_field", "sessionID"),
                (["notification": ["title": "t"], "eventType": "error"], "invalid_field", "eventType"),
                (["notification": ["title": "t"], "deviceToken": "x"], "invalid_field", "deviceToken"),
                (
                    ["eventType": "error", "sessionID": "s", "deviceToken": "x"], "invalid_field",
                    "deviceToken"
                ),
            ]
            for (members, code, field) in expected {
                var body = try #require(members.object)
                body["in"] = 60
                let json = await Self.create(relay, .object(body)).json
                #expect(json["code"]?.string == code && json["field"]?.string == field, "\(json)")
            }
            #expect(await Self.post(relay, "create", ["in": 60]).json["field"] == "eventType")
            #expect(relay.storage.state.withLock { $0.schedules.isEmpty })
        }
    }

    @Test("There is exactly one time, at hand and not in the past")
    func times() async throws {
        try await Self.with { relay in
            let every: JSON.Value = ["unit": "hour"]
            let refused: [(JSON.Value, String)] = [
                ([:], "at"), (["in": 60, "every": every], "every"),
                (["at": "2027-01-16T08:00:00Z", "in": 60], "in"),
                (["in": 0], "in"), (["in": 31_622_401], "in"), (["in": "60"], "in"),
                (["at": "2027-01-15T07:58:59Z"], "at"), (["at": "2028-01-16T08:00:01Z"], "at"),
                (["at": "2027-01-16T08:00:00"], "at"), (["at": 1_800_000_000], "at"),
                (["every": ["unit": "hour", "until": "2027-01-15T08:59:59Z"]], "every.until"),
                (["every": ["unit": "day", "at": ["08:00"], "timeZone": "Nowhere"]], "every.timeZone"),
                (["every": ["unit": "day", "at": ["08:00"]]], "every.timeZone"),
                (["in": 60, "lateBy": 86_401], "lateBy"), (["in": 60, "window": -1], "window"),
                (["in": 60, "name": ""], "name"),
                (["in": 60, "name": .string(String(repeating: "n", count: 129))], "name"),
            ]
            for (members, field) in refused {
                let response = await Self.create(relay, members)
                #expect(response.status == 400 && response.json["field"]?.string == field, "\(members)")
            }
            // Clocks may differ a little; the notification is then sent immediately.
            let late = await Self.create(relay, ["at": "2027-01-15T08:59:30+01:00"])
            #expect(late.json["nextAt"] == "2027-01-15T08:00:00.000Z")
            let exact = await Self.create(relay, ["at": "2027-01-16T09:00:00.5+01:00"])
            #expect(exact.json["nextAt"] == "2027-01-16T08:00:00.500Z")
            let last = await Self.create(relay, ["every": ["unit": "hour", "until": "2027-01-15T09:00:00Z"]])
            #expect(last.json["nextAt"] == "2027-01-15T09:00:00.000Z")
        }
    }

    @Test("In each device's own time, the first is that of the zone in which it comes first")
    func deviceZones() async throws {
        try await Self.with { relay in
            let members: JSON.Value = ["every": ["unit": "day", "at": ["09:00"], "timeZone": "device"]]
            let without = await Self.create(relay, members)
            #expect(without.json["field"] == "every.timeZone")
            #expect(without.json["error"]?.string?.contains("has registered a time zone") == true)
            func register(_ token: String, _ preferences: JSON.Value) async -> Response {
                await relay.post(
                    "/v1/device/register",
                    [
                        "secret": .string(RelayFixture.secret), "deviceToken": .string(token),
                        "preferences": preferences,
                    ])
            }
            let hours: JSON.Value = ["from": "22:00", "to": "07:00", "timeZone": "America/New_York"]
            #expect(await register("bb00", ["quietHours": hours]).status == .ok)
            #expect(await Self.create(relay, members).json["nextAt"] == "2027-01-15T14:00:00.000Z")
            #expect(await register("cc00", ["timeZone": "Atlantic/Azores"]).status == .ok)
            #expect(await Self.create(relay, members).json["nextAt"] == "2027-01-15T10:00:00.000Z")
            // An unknown zone counts as none, so the device uses the zone of the secret's other devices.
            #expect(await register("cc00", ["timeZone": "Nowhere"]).status == .ok)
            #expect(await Self.create(relay, members).json["nextAt"] == "2027-01-15T14:00:00.000Z")
            // The quiet hours may have a known zone.
            #expect(await register("cc00", ["timeZone": "Nowhere", "quietHours": hours]).status == .ok)
            #expect(await register("bb00", ["timeZone": "Nowhere"]).status == .ok)
            #expect(await Self.create(relay, members).json["nextAt"] == "2027-01-15T14:00:00.000Z")
            #expect(await register("cc00", ["timeZone": "Nowhere"]).status == .ok)
            let unknown = await Self.create(relay, members)
            #expect(unknown.json["field"] == "every.timeZone")
            #expect(unknown.json["error"]?.string?.contains("that the relay knows") == true)
        }
    }

    @Test("A name is unique: creating again replaces, also at the limit")
    func limits() async throws {
        var options = RelayFixture.Options()
        options.limits.schedulesPerSecretMax = 2
        try await Self.with(options) { relay in
            let first = await Self.create(relay, ["in": 60, "name": "a"]).json["id"]
            #expect(await Self.create(relay).status == .ok)
            let over = await Self.create(relay)
            #expect(over.status == 409 && over.json["code"] == "schedule_limit")
            let again = await Self.create(relay, ["in": 90, "name": "a"])
            #expect(again.status == .ok && again.json["id"] != first)
            let listed = await Self.list(relay)
            #expect(listed.count == 2 && listed[0]["nextAt"] == "2027-01-15T08:01:30.000Z")
        }
    }

    @Test("A secret without devices stores nothing, and a blocked or busy one neither")
    func refusals() async throws {
        var options = RelayFixture.Options()
        options.rates = RateLimitConfiguration(eventsPerMinute: 1, unknownSecretsPerMinute: 2)
        try await RelayFixture.with(options) { relay in
            #expect(await Self.create(relay).json["code"] == "no_devices")
            #expect(await Self.create(relay).json["code"] == "rate_limited")
            #expect(await Self.list(relay).isEmpty)
            // The empty list also counted, so this is the address's second request.
            #expect(await Self.post(relay, "cancel", ["name": "a"]).json["code"] == "rate_limited")
        }
        try await Self.with { relay in
            let blocked = BlockedSecret(secretHash: RelayFixture.key.primary, createdAt: 0, note: nil)
            _ = try await relay.storage.block(blocked, limit: 1)
            let list = await relay.onLoop { $0.services.shared.blocked }
            await list.refresh()
            #expect(await Self.create(relay).json["code"] == "blocked")
        }
    }

    @Test("A cancellation names one schedule")
    func cancellation() async throws {
        try await Self.with { relay in
            let id = try #require(await Self.create(relay, ["in": 60, "name": "a"]).json["id"])
            #expect(await Self.post(relay, "cancel").json["field"] == "id")
            #expect(await Self.post(relay, "cancel", ["id": id, "name": "a"]).json["field"] == "name")
            #expect(await Self.post(relay, "cancel", ["id": "a"]).json["field"] == "id")
            #expect(await Self.list(relay).count == 1)
        }
    }
}
