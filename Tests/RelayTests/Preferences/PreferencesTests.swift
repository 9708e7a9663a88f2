import APNs
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("Preferences", .timeLimit(.minutes(2)))
struct PreferencesTests {
    private static let zones = TimeZones()

    private func hours(_ from: String, _ to: String, _ zone: String = "Europe/Berlin") throws -> QuietHours {
        QuietHours(
            from: try #require(QuietHours.minute(from)), to: try #require(QuietHours.minute(to)),
            timeZone: zone)
    }

    /// Milliseconds of a moment in UTC.
    private func utc(_ year: Int64, _ month: Int, _ day: Int64, _ hour: Int64, _ minute: Int64)
        -> EpochMilliseconds
    {
        ((CivilDate.day(year: year, month: month) + day - 1) * 1440 + hour * 60 + minute) * 60_000
    }

    @Test("Quiet hours begin with their first minute and end before their last, over midnight too")
    func span() throws {
        let zone = try #require(Self.zones.zone("UTC"))
        let night = try hours("22:00", "07:00")
        let noon = try hours("12:00", "13:30")
        let day = utc(2026, 11, 21, 0, 0)
        func minutes(_ hours: QuietHours) -> [Int64] {
            (0..<1440).filter { hours.contains(day + $0 * 60_000 + 59_999, in: zone) }
        }
        #expect(minutes(night) == Array(0..<420) + Array(1320..<1440))
        #expect(minutes(noon) == Array(720..<810))
    }

    @Test("They follow the clock on the wall when it is changed")
    func daylightSaving() throws {
        let berlin = try #require(Self.zones.zone("Europe/Berlin"))
        let night = try hours("22:00", "07:00")
        // In winter 07:00 is 06:00 UTC, in summer 05:00.
        #expect(night.contains(utc(2026, 3, 28, 5, 59), in: berlin))
        #expect(!night.contains(utc(2026, 3, 28, 6, 0), in: berlin))
        #expect(night.contains(utc(2026, 3, 29, 4, 59), in: berlin))
        #expect(!night.contains(utc(2026, 3, 29, 5, 0), in: berlin))
        // 02:00 to 03:00 doesn't exist on the day on which it is skipped, and comes twice on the other day.
        let hour = try hours("02:00", "03:00")
        let skipped = utc(2026, 3, 29, 0, 0)
        let twice = utc(2026, 10, 25, 0, 0)
        #expect((0..<180).count { hour.contains(skipped + $0 * 60_000, in: berlin) } == 0)
        #expect((0..<180).count { hour.contains(twice + $0 * 60_000, in: berlin) } == 120)
    }

    @Test("Other types are muted, quiet hours are quiet, and permission passes unless it says otherwise")
    func wishes() throws {
        var quiet = try hours("00:00", "12:00", "UTC")
        let now = utc(2026, 11, 21, 8, 0)
        func wish(_ preferences: DevicePreferences, _ type: EventType?, at time: EpochMilliseconds)
            -> DevicePreferences.Wish
        {
            preferences.wish(for: type?.rawValue, at: time, zone: Self.zones.zone)
        }
        let both = DevicePreferences(kinds: ["error", "permission"], quietHours: quiet)
        #expect(wish(both, .complete, at: now) == .muted)
        #expect(wish(both, .error, at: now) == .quiet(until: nil))
        #expect(wish(both, .permission, at: now) == .normal)
        #expect(wish(both, nil, at: now) == .quiet(until: nil))
        #expect(wish(both, .error, at: now + 4 * 3_600_000) == .normal)
        #expect(wish(.none, .complete, at: now) == .normal)
        #expect(wish(DevicePreferences(kinds: []), .error, at: now) == .muted)
        #expect(wish(DevicePreferences(kinds: []), nil, at: now) == .normal)
        quiet.allowPermission = false
        #expect(wish(DevicePreferences(quietHours: quiet), .permission, at: now) == .quiet(until: nil))
        // A zone that the system no longer has doesn't silence anything.
        #expect(DevicePreferences(quietHours: quiet).wish(for: "error", at: now) { _ in nil } == .normal)
    }

    @Test("Quiet hours end at their minute of the local day, also when the clocks change in between")
    func ends() throws {
        var quiet = try hours("22:00", "07:00", "Europe/Berlin")
        quiet.mode = .later
        let ends: [(now: EpochMilliseconds, end: EpochMilliseconds)] = [
            (utc(2026, 11, 20, 22, 30), utc(2026, 11, 21, 6, 0)),
            (utc(2026, 11, 21, 5, 59), utc(2026, 11, 21, 6, 0)),
            // The night of 28 March 2027 is an hour shorter, that of 31 October an hour longer.
            (utc(2027, 3, 27, 22, 0), utc(2027, 3, 28, 5, 0)),
            (utc(2027, 10, 30, 21, 0), utc(2027, 10, 31, 6, 0)),
        ]
        for (now, end) in ends {
            let wish = DevicePreferences(quietHours: quiet).wish(for: nil, at: now, zone: Self.zones.zone)
            #expect(wish == .quiet(until: end))
            let after = DevicePreferences(quietHours: quiet).wish(for: nil, at: end, zone: Self.zones.zone)
            #expect(after == .normal)
        }
    }

    @Test(
        "Where clocks change, the end of quiet hours is later than any time within them, and outside of them",
        arguments: [
            ("Europe/Berlin", 1_806_192_000), ("Europe/Berlin", 1_824_940_800),
            ("America/New_York", 1_804_982_400), ("Australia/Lord_Howe", 1_822_435_200),
            ("Australia/Lord_Howe", 1_806_710_400), ("Pacific/Apia", 1_325_203_200),
        ])
    func endWhereClocksChange(name: String, near day: Int64) throws {
        let zone = try #require(Self.zones.zone(name))
        let start = day - 86_400
        let changes = Set((0..<48).map { zone.offset(at: start + $0 * 3_600) }).count > 1
        try #require(changes, "nothing changes near that day")
        for to in stride(from: 0, to: 1_440, by: 15) {
            let quiet = QuietHours(from: (to + 960) % 1_440, to: to, timeZone: name, mode: .later)
            for minute in stride(from: Int64(0), to: 2_880, by: 7) {
                let now = (start + minute * 60) * 1000
                guard quiet.contains(now, in: zone) else { continue }
                let end = quiet.end(after: now, in: zone)
                #expect(end > now && !quiet.contains(end, in: zone), "until \(to), at \(now)")
            }
        }
    }

    @Test("What is stored is read again as it was; what isn't understood is no wish")
    func stored() throws {
        for preferences in [
            DevicePreferences.none, DevicePreferences(kinds: []),
            DevicePreferences(
                kinds: ["error", "build-1", "complete"], quietHours: try hours("22:00", "07:05")),
            DevicePreferences(
                quietHours: QuietHours(from: 0, to: 1, timeZone: "Asia/Kolkata", allowPermission: false)),
            DevicePreferences(
                quietHours: QuietHours(from: 0, to: 1, timeZone: "Asia/Kolkata", mode: .later), perHour: 1,
                perDay: 1_000),
            try DevicePreferences(
                RequestFields(body: Array(#"{"badge":"x","eventTypes":["Start","error"]}"#.utf8))),
        ] {
            let text = String(decoding: preferences.json, as: UTF8.self)
            #expect(DevicePreferences(stored: text) == preferences)
        }
        for text in ["", "[]", "{\"eventTypes\":[1]}", "{\"quietHours\":{\"from\":\"22:00\"}}"] {
            #expect(DevicePreferences(stored: text) == .none)
        }
    }

    @Test(
        "Times of day have two digits, a colon and two digits",
        arguments: ["", "7:00", "24:00", "12:60", "12-30", "+1:00", "１２:30", "12:3 "])
    func times(text: String) {
        #expect(QuietHours.minute(text) == nil)
    }

    // MARK: In requests and pushes

    private func register(
        _ relay: RelayFixture, _ members: JSON.Value, token: String = "aa00"
    ) async -> JSON.Value {
        var object = JSON.Object()
        object["secret"] = .string(RelayFixture.secret)
        object["deviceToken"] = .string(token)
        for member in members.object?.members ?? [] { object[member.name] = member.value }
        return await relay.post("/v1/device/register", .object(object)).json
    }

    @Test("A registration's preferences are checked, field by field")
    func checked() async throws {
        let good: JSON.Value = ["from": "22:00", "to": "07:00", "timeZone": "Europe/Berlin"]
        func hours(_ name: String, _ value: JSON.Value?) -> JSON.Value {
            var object = good.object ?? JSON.Object()
            object[name] = value
            return ["quietHours": .object(object)]
        }
        try await RelayFixture.with { relay in
            let faults: [(JSON.Value, String, String)] = [
                ("x", "invalid_field", "preferences"),
                (["eventTypes": "error"], "invalid_field", "preferences.eventTypes"),
                (["eventTypes": [1]], "invalid_field", "preferences.eventTypes"),
                (
                    ["eventTypes": .array((0...64).map { .string("kind-\($0)") })], "invalid_field",
                    "preferences.eventTypes"
                ),
                (["eventTypes": ["error", "error"]], "invalid_field", "preferences.eventTypes"),
                (["quietHours": []], "invalid_field", "preferences.quietHours"),
                (hours("from", nil), "missing_field", "preferences.quietHours.from"),
                (hours("from", "25:00"), "invalid_field", "preferences.quietHours.from"),
                (hours("to", "22:00"), "invalid_field", "preferences.quietHours.to"),
                (hours("timeZone", 1), "invalid_field", "preferences.quietHours.timeZone"),
                (hours("timeZone", nil), "missing_field", "preferences.quietHours.timeZone"),
                (["badge": true], "invalid_field", "preferences.badge"),
                (hours("allowPermission", 1), "invalid_field", "preferences.quietHours.allowPermission"),
                (["perHour": 0], "invalid_field", "preferences.perHour"),
                (["perDay": 1_001], "invalid_field", "preferences.perDay"),
                (hours("mode", 1), "invalid_field", "preferences.quietHours.mode"),
            ]
            for (preferences, code, field) in faults {
                let answer = await register(relay, ["preferences": preferences])
                #expect(answer["code"] == .string(code) && answer["field"] == .string(field), "\(answer)")
            }
            #expect(relay.storage.state.withLock(\.devices).isEmpty)
            let wanted: JSON.Value = ["eventTypes": ["error", "complete"], "quietHours": good]
            #expect(
                await register(relay, ["preferences": wanted, "deviceName": "Ada's phone"])["ok"] == true)
            // Absent preferences stay as they are; given ones are replaced.
            #expect(await register(relay, ["osVersion": "26.1"])["ok"] == true)
            let list = await relay.post("/v1/device/list", ["secret": .string(RelayFixture.secret)]).json
            let device = list["devices"]?.array?.first
            #expect(
                device?["preferences"] == [
                    "eventTypes": ["complete", "error"],
                    "quietHours": [
                        "from": "22:00", "to": "07:00", "timeZone": "Europe/Berlin", "allowPermission": true,
                    ],
                ])
            #expect(device?["deviceName"] == "Ada's phone" && device?["osVersion"] == "26.1")
            #expect(await register(relay, ["preferences": [:]])["ok"] == true)
            let after = await relay.post("/v1/device/list", ["secret": .string(RelayFixture.secret)]).json
            #expect(after["devices"]?.array?.first?["preferences"] == [:])
        }
    }

    @Test("Muted devices get nothing and are counted; in quiet hours a push is passive and without sound")
    func pushes() async throws {
        try await RelayFixture.with { relay in
            // 2027-01-15 08:00 UTC.
            let quiet: JSON.Value = ["from": "07:00", "to": "09:00", "timeZone": "UTC"]
            #expect(await register(relay, [:], token: "aa00")["ok"] == true)
            #expect(
                await register(relay, ["preferences": ["eventTypes": ["error"]]], token: "bb00")["ok"] == true
            )
            #expect(
                await register(relay, ["preferences": ["quietHours": quiet]], token: "cc00")["ok"] == true)
            let answer = await relay.event().json
            #expect(
                answer["sent"] == 2 && answer["failed"] == 0 && answer["queued"] == 0 && answer["muted"] == 1)
            #expect(answer["deliveries"]?.array?.map { $0["status"] } == ["sent", "muted", "sent"])
            let pushes = await relay.onLoop { $0.production.pushes }
            #expect(pushes.map(\.deviceToken.text) == ["aa00", "cc00"])
            let aps = try pushes.map { try JSON.parse($0.notification.payload, maxBytes: 4096)["aps"] }
            #expect(aps[0]?["sound"] == "default" && aps[0]?["interruption-level"] == nil)
            #expect(aps[1]?["sound"] == nil && aps[1]?["interruption-level"] == "passive")
            #expect(aps[1]?["alert"] == aps[0]?["alert"])
            // A permission is delivered as always.
            let permission = await relay.event(["eventType": "permission"]).json
            #expect(permission["sent"] == 2 && permission["muted"] == 1)
            let last = try #require(await relay.onLoop { $0.production.pushes.last })
            #expect(try JSON.parse(last.notification.payload, maxBytes: 4096)["aps"]?["sound"] == "default")
            #expect(await relay.onLoop { $0.services.slots.taken } == 0)
            // Muted pushes aren't logged.
            #expect(await relay.onLoop { $0.services.shared.deliveryLog.figures.waiting } == 4)
        }
    }

    @Test("A notification's kind is muted as an event's type is; without one it always passes")
    func kinds() async throws {
        try await RelayFixture.with { relay in
            let most = (0..<63).map { JSON.Value.string("\($0)" + String(repeating: "k", count: 30)) }
            let wanted: [(String, JSON.Value)] = [
                ("aa00", [:]), ("bb00", ["eventTypes": ["error", "build_1"]]),
                ("cc00", ["eventTypes": .array(["deploy"] + most)]),
            ]
            for (token, preferences) in wanted {
                #expect(await register(relay, ["preferences": preferences], token: token)["ok"] == true)
            }
            func notify(_ kind: JSON.Value?) async -> JSON.Value {
                var notification = JSON.Object()
                notification["title"] = "t"
                notification["kind"] = kind
                let secret = JSON.Value.string(RelayFixture.secret)
                return await relay.post(
                    "/v1/notify", ["secret": secret, "notification": .object(notification)]
                ).json
            }
            func statuses(_ answer: JSON.Value) -> [JSON.Value?]? {
                answer["deliveries"]?.array?.map { $0["status"] }
            }
            #expect(statuses(await notify("build_1")) == ["sent", "sent", "muted"])
            #expect(statuses(await notify("deploy")) == ["sent", "muted", "sent"])
            #expect(statuses(await notify("error")) == ["sent", "sent", "muted"])
            #expect(statuses(await notify(nil)) == ["sent", "sent", "sent"])
            let payloads = await relay.onLoop { $0.production.pushes.map(\.notification.payload) }
            #expect(payloads.first == Array(#"{"aps":{"alert":{"title":"t"}},"kind":"build_1"}"#.utf8))
            #expect(payloads.last == Array(#"{"aps":{"alert":{"title":"t"}}}"#.utf8))
            for bad: JSON.Value in ["", "Build", "b c", .string(String(repeating: "k", count: 33)), 1, nil] {
                #expect(await notify(bad)["field"] == "notification.kind")
            }
        }
    }

    @Test("In quiet hours a notification of the kind permission passes as the event does")
    func quietKinds() async throws {
        try await RelayFixture.with { relay in
            let quiet: JSON.Value = ["from": "07:00", "to": "09:00", "timeZone": "UTC"]
            #expect(await register(relay, ["preferences": ["quietHours": quiet]])["ok"] == true)
            for kind: JSON.Value in ["permission", "build"] {
                _ = await relay.post(
                    "/v1/notify",
                    [
                        "secret": .string(RelayFixture.secret),
                        "notification": ["title": "t", "sound": "s", "kind": kind],
                    ])
            }
            let levels = try await relay.onLoop { $0.production.pushes.map(\.notification.payload) }
                .map { try JSON.parse($0, maxBytes: 4096)["aps"]?["interruption-level"] }
            #expect(levels == [nil, "passive"])
        }
    }
}
