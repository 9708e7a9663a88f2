import APNs
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("Events that are sent later than they are answered", .timeLimit(.minutes(2)))
struct LaterTests {
    // MARK: async

    @Test("An async event is answered once it is stored, and sent with its eventID")
    func event() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let body: JSON.Value = ["async": true, "eventID": "e", "title": "Done", "category": "c"]
            for _ in 0..<2 {
                let response = await relay.event(body)
                #expect(response.status.rawValue == 202 && response.json == ["ok": true])
            }
            #expect(relay.schedules.count == 2)
            #expect(relay.schedules.allSatisfy { !$0.content.contains(RelayFixture.secret) })
            #expect(await relay.onLoop { $0.production.pushes.isEmpty })
            try await relay.withScheduleWorker { _ in
                #expect(await eventually { relay.schedules.isEmpty })
            }
            let pushes = await relay.onLoop { $0.production.pushes }
            #expect(pushes.count == 1)
            let payload = try JSON.parse(try #require(pushes.first).notification.payload, maxBytes: 9_999)
            #expect(payload["aps"]?["alert"]?["title"]?.string == "Done")
            // The same event without async gets the response to the one that was sent.
            let again = await relay.event(["eventID": "e", "title": "Done", "category": "c"])
            #expect(again.json["sent"]?.int == 1)
            #expect(await relay.onLoop { $0.production.pushes.count } == 1)
        }
    }

    @Test("An async event that was postponed isn't sent after it was acknowledged", arguments: [true, false])
    func acknowledged(isAcknowledged: Bool) async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            #expect(await relay.event(["async": true, "eventID": "e"]).status.rawValue == 202)
            relay.storage.state.withLock { state in
                state.schedules[0].schedule.dueAt += 5_000
                if isAcknowledged { state.acknowledge("e", under: RelayFixture.key, at: RelayFixture.start) }
            }
            relay.pass(.seconds(5))
            try await relay.withScheduleWorker { _ in
                #expect(await eventually { relay.schedules.isEmpty })
            }
            #expect(await relay.onLoop { $0.production.pushes.count } == (isAcknowledged ? 0 : 1))
            #expect(await relay.outcomes == [isAcknowledged ? "skipped" : "sent": 1])
        }
    }

    @Test("An async notification goes to the device that it names, and false is as nothing")
    func notification() async throws {
        try await RelayFixture.with { relay in
            for token in ["aa00", "bb00"] { relay.storage.add(token, under: RelayFixture.key) }
            func notify(_ isAsync: JSON.Value) async -> Response {
                await relay.post(
                    "/v1/notify",
                    [
                        "secret": .string(RelayFixture.secret), "deviceToken": "bb00", "async": isAsync,
                        "notification": ["title": "t"],
                    ])
            }
            #expect(await notify("yes").json["field"] == "async")
            #expect(await notify(false).status.rawValue == 200)
            #expect(await notify(true).status.rawValue == 202)
            try await relay.withScheduleWorker { _ in
                #expect(await eventually { relay.schedules.isEmpty })
            }
            #expect(await relay.onLoop { $0.production.pushes.map(\.deviceToken.text) } == ["bb00", "bb00"])
        }
    }

    @Test("An async event is checked, counted once and refused as others are")
    func refused() async throws {
        var options = RelayFixture.Options()
        options.rates.eventsPerMinute = 2
        try await RelayFixture.with(options) { relay in
            #expect(await relay.event(["async": true]).status.rawValue == 202)
            #expect(relay.schedules.isEmpty)
            relay.storage.add("aa00", under: RelayFixture.key)
            #expect(await relay.event(["async": true, "title": 1]).json["code"] == "invalid_field")
            #expect(await relay.event(["async": true]).status.rawValue == 202)
            #expect(await relay.event(["async": true]).json["code"] == "rate_limited")
            try await relay.withScheduleWorker { _ in
                #expect(await eventually { relay.schedules.isEmpty })
            }
            #expect(await relay.outcomes == ["sent": 1])
        }
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            relay.storage.state.withLock { $0.failure = .unavailable(logDetail: "x") }
            #expect(await relay.event(["async": true]).status.rawValue == 503)
        }
    }

    @Test("A secret can't have any number of events that are answered and not sent")
    func full() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            for _ in 0..<Bounds.asyncEventsPerSecretMax {
                #expect(await relay.event(["async": true]).status.rawValue == 202)
            }
            let refused = await relay.event(["async": true])
            #expect(refused.json["code"] == "rate_limited")
            #expect(refused.headers.values(of: "Retry-After") == ["5"])
        }
    }

    // MARK: Quiet hours

    /// Registers a device that may be disturbed an hour from the fixture's time at the earliest.
    private func register(_ relay: RelayFixture, _ token: JSON.Value) async {
        // The fixture's time is 08:00 UTC.
        let quiet: JSON.Value = ["from": "07:00", "to": "09:00", "timeZone": "UTC", "mode": "later"]
        let answer = await relay.post(
            "/v1/device/register",
            [
                "secret": .string(RelayFixture.secret), "deviceToken": token,
                "preferences": ["quietHours": quiet],
            ])
        #expect(answer.json["ok"] == true)
    }

    @Test("Pushes wait for the end of quiet hours, a session's latest replaces the others")
    func held() async throws {
        var options = RelayFixture.Options()
        options.history = History.Options(lifetime: .seconds(86_400), keepsText: true)
        try await RelayFixture.with(options) { relay in
            await register(relay, "aa00")
            relay.storage.add("bb00", under: RelayFixture.key)
            for title in ["first", "second"] {
                let answer = await relay.event(["title": .string(title), "eventID": .string(title)]).json
                #expect(answer["queued"]?.int == 1 && answer["sent"]?.int == 1)
                let held = answer["deliveries"]?.array?.first { $0["status"] == "queued" }
                #expect(held?["reason"] == "QuietHours")
            }
            #expect(await relay.event(["sessionID": "ses_2", "title": "other"]).json["queued"]?.int == 1)
            // Permissions aren't deferred.
            #expect(await relay.event(["eventType": "permission"]).json["sent"]?.int == 2)
            let end = RelayFixture.start + 3_600_000
            #expect(relay.schedules.map(\.nextAt) == [end, end])
            relay.pass(.seconds(3_600))
            try await relay.withScheduleWorker { _ in
                #expect(await eventually { relay.schedules.isEmpty })
            }
            let pushes = await relay.onLoop { $0.production.pushes }.filter { $0.deviceToken.text == "aa00" }
            let payloads = try pushes.map { try JSON.parse($0.notification.payload, maxBytes: 9_999) }
            let titles = payloads.map { $0["aps"]?["alert"]?["title"]?.string }
            #expect(titles.count == 3 && titles.suffix(2).contains("second") && titles.contains("other"))
            // It can be acknowledged as if it had been sent immediately.
            #expect(payloads.last { $0["aps"]?["alert"]?["title"] == "second" }?["eventID"] == "second")
            // The history contains each event once.
            #expect(relay.storage.state.withLock { $0.history.count } == 4)
        }
    }

    @Test("A held push whose event was acknowledged meanwhile isn't sent")
    func acknowledged() async throws {
        try await RelayFixture.with { relay in
            await register(relay, "aa00")
            #expect(await relay.event(["title": "seen", "eventID": "e"]).json["queued"]?.int == 1)
            let body: JSON.Value = ["secret": .string(RelayFixture.secret), "eventID": "e"]
            #expect(await relay.post("/v1/ack", body).status == .ok)
            relay.pass(.seconds(3_600))
            try await relay.withScheduleWorker { _ in
                #expect(await eventually { relay.schedules.isEmpty })
            }
            #expect(await relay.onLoop { $0.production.pushes.isEmpty })
            #expect(await relay.outcomes == ["skipped": 1])
        }
    }

    @Test("The phone acknowledges a scheduled event by its occurrence's ID")
    func scheduled() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let created = await relay.post(
                "/v1/schedule/create",
                [
                    "secret": .string(RelayFixture.secret), "in": 60, "eventType": "error", "sessionID": "s",
                ])
            let id = try #require(created.json["id"]?.string)
            let nominal = try #require(relay.schedules.first?.nextAt)
            relay.pass(.seconds(120))
            try await relay.withScheduleWorker { _ in
                #expect(await eventually { relay.schedules.isEmpty })
            }
            let push = try #require(await relay.onLoop { $0.production.pushes.first })
            let payload = try JSON.parse(push.notification.payload, maxBytes: 9_999)
            #expect(payload["eventID"]?.string == "sched:\(id):\(nominal)")
            let body: JSON.Value = [
                "secret": .string(RelayFixture.secret), "eventID": payload["eventID"] ?? .null,
            ]
            #expect(await relay.post("/v1/ack", body).status == .ok)
        }
    }

    @Test("A push that can't be stored for later has failed, and says why")
    func notHeld() async throws {
        try await RelayFixture.with { relay in
            await register(relay, "aa00")
            relay.storage.state.withLock { $0.createFailures = [.full(logDetail: "x")] }
            let answer = await relay.event().json
            #expect(answer["failed"]?.int == 1 && answer["queued"]?.int == 0)
            #expect(answer["deliveries"]?.array?.first?["reason"] == "QueueUnavailable")
        }
    }

    @Test("A background push doesn't wait, and a row is read as it was written")
    func others() async throws {
        try await RelayFixture.with { relay in
            await register(relay, "aa00")
            let background = await relay.post(
                "/v1/notify",
                [
                    "secret": .string(RelayFixture.secret),
                    "notification": ["pushType": "background", "data": ["a": 1]],
                ])
            #expect(background.json["sent"]?.int == 1)
            for row in [
                #"{"route":"notify","body":{"notification":{"title":"t"}},"device":"d"}"#,
                #"{"route":"event","body":{"eventType":"error"},"eventID":"e","token":"aa","in":true}"#,
                #"{"route":"event","body":{},"of":"e","heldOf":"f"}"#,
            ] {
                let stored = try #require(StoredDispatch(json: row))
                #expect(stored.json == row)
            }
            let held = try #require(
                StoredDispatch(json: #"{"route":"notify","body":{},"device":"d","heldOf":"e"}"#))
            #expect(held.deviceID == "d" && held.knownEvent == "e")
            #expect(held.origin(.held, receiptID: "r") == .quietHours(of: "e", receiptID: "r"))
        }
    }
}
