import APNs
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("Live Activities", .timeLimit(.minutes(2)))
struct ActivityTests {
    private static let state: JSON.Value = ["status": "working", "sessionTitle": "Fix"]

    /// A relay with two phones, each showing the session.
    private static func withPhones(
        _ options: RelayFixture.Options = RelayFixture.Options(), showing: Bool = true,
        _ body: (RelayFixture) async throws -> Void
    ) async throws {
        try await RelayFixture.with(options) { relay in
            for token in ["d1", "d2"] {
                relay.storage.add(token, under: RelayFixture.key)
                guard showing else { continue }
                #expect(await relay.activity("aa" + token, device: token).status == 200)
            }
            try await body(relay)
        }
    }

    @Test("Two phones get updates within the interval, the last state of it afterwards, and the end")
    func course() async throws {
        var options = RelayFixture.Options()
        options.limits.activityInterval = .milliseconds(20)
        try await Self.withPhones(options) { relay in
            let first = await relay.event(["eventType": "progress", "contentState": Self.state])
            #expect(first.json["activities"] == ["sent": 2, "failed": 0, "queued": 0, "held": 0])
            #expect(first.json["sent"] == 0)
            #expect(first.json["deliveries"]?.array?.allSatisfy { $0["activity"] == true } == true)
            for status in ["a", "b", "last"] {
                relay.time.withLock { $0 += 1 }
                let held = await relay.event([
                    "eventType": "progress", "contentState": ["status": .string(status)],
                ])
                #expect(held.json["activities"] == ["sent": 0, "failed": 0, "queued": 0, "held": 2])
            }
            #expect(await relay.onLoop { $0.production.pushes.count } == 2)
            relay.pass(.milliseconds(20))
            #expect(await relay.until { $0.production.pushes.count == 4 })
            let end = await relay.event(["contentState": ["status": "complete"]])
            #expect(end.json["sent"] == 2)
            #expect(end.json["activities"] == ["sent": 2, "failed": 0, "queued": 0, "held": 0])
            let pushes = await relay.onLoop { $0.production.pushes }
            for phone in ["aad1", "aad2"] {
                // One push within the interval, with the last of three states.
                let own = pushes.filter { $0.deviceToken.text == phone }.map { $0.notification }
                let aps = try own.map { try #require(try JSON.parse($0.payload, maxBytes: 4_096)["aps"]) }
                #expect(aps.map { $0["content-state"]?["status"] } == ["working", "last", "complete"])
                #expect(aps.map { $0["event"] } == ["update", "update", "end"])
                let stamps = aps.compactMap { $0["timestamp"]?.int }
                #expect(stamps == stamps.sorted() && Set(stamps).count == 3)
                #expect(own.allSatisfy { $0.pushType == .liveactivity && $0.topic.text == "org.example.app" })
                #expect(own.map { $0.priority.rawValue } == [5, 5, 10])
            }
            #expect(relay.storage.state.withLock(\.tokens).isEmpty)
            let after = await relay.event(["eventType": "progress", "contentState": Self.state])
            #expect(after.json["activities"] == ["sent": 0, "failed": 0, "queued": 0, "held": 0])
        }
    }

    @Test("An event without contentState asks nothing of activities, and its answer is as ever")
    func ordinary() async throws {
        try await Self.withPhones { relay in
            let answer = await relay.event()
            #expect(answer.json["activities"] == nil)
            #expect(relay.storage.state.withLock(\.takes) == 0)
            #expect(await relay.onLoop { $0.production.pushes.map(\.deviceToken.text) } == ["d1", "d2"])
        }
    }

    @Test("A dead activity is removed and its device isn't; a wrong environment is stored with the activity")
    func outcomes() async throws {
        try await Self.withPhones { relay in
            await relay.loop.run { _ in
                relay.production.value.script = { push in
                    switch push.deviceToken.text {
                    case "aad1": .rejected(410, "Unregistered", timestamp: 1_900_000_000_000)
                    case "aad2": .rejected(400, "BadDeviceToken")
                    default: .accepted(push)
                    }
                }
            }
            relay.pass(.seconds(1))
            let answer = await relay.event(["eventType": "permission", "contentState": Self.state])
            #expect(answer.json["sent"] == 2 && answer.json["failed"] == 0)
            #expect(answer.json["activities"] == ["sent": 1, "failed": 1, "queued": 0, "held": 0])
            let tokens = relay.storage.state.withLock(\.tokens)
            #expect(tokens.map(\.token) == ["aad2"])
            #expect(relay.storage.state.withLock { $0.devices.count } == 2)
            #expect(await relay.onLoop { $0.services.counts.removed.reduce(0, +) } == 0)
            #expect(
                await relay.onLoop { $0.sandbox.pushes.map(\.deviceToken.text) } == ["aad2"])
        }
    }

    @Test("An end without a notification removes the activity")
    func endAlone() async throws {
        try await Self.withPhones { relay in
            let answer = await relay.event(["eventType": "end", "contentState": Self.state])
            #expect(answer.json["sent"] == 0)
            #expect(answer.json["activities"] == ["sent": 2, "failed": 0, "queued": 0, "held": 0])
            let pushes = await relay.onLoop { $0.production.pushes }
            #expect(pushes.map(\.deviceToken.text).sorted() == ["aad1", "aad2"])
            #expect(relay.storage.state.withLock(\.tokens).isEmpty)
        }
    }

    @Test("Only an end waits in the queue")
    func queue() async throws {
        try await Self.withPhones { relay in
            await relay.loop.run { _ in
                relay.production.value.script = { _ in .rejected(503, "ServiceUnavailable") }
            }
            for (type, queued) in [("progress", 0), ("permission", 0), ("complete", 2)] as [(JSON.Value, Int)]
            {
                let answer = await relay.event(["eventType": type, "contentState": Self.state])
                #expect(answer.json["activities"]?["queued"]?.int == queued)
                #expect(answer.json["activities"]?["failed"]?.int == 2 - queued)
            }
            let waiting = relay.pending.filter { $0.push.pushType == "liveactivity" }
            #expect(waiting.map { $0.push.eventType } == ["activity.complete", "activity.complete"])
            #expect(relay.storage.state.withLock { $0.ended.count } == 2)
        }
    }

    @Test("A start goes to devices that don't show the session, once")
    func start() async throws {
        try await RelayFixture.with { relay in
            for token in ["d1", "d2"] {
                let answer = await relay.post(
                    "/v1/device/register",
                    [
                        "secret": .string(RelayFixture.secret), "deviceToken": .string(token),
                        "bundleId": "org.example.app", "pushToStartToken": .string("5" + token + "0"),
                        "attributesType": "App.Attributes",
                    ])
                #expect(answer.status == 200)
            }
            #expect(await relay.activity("aad1", device: "d1").status == 200)
            let members: JSON.Value = [
                "eventType": "start", "contentState": Self.state, "attributes": ["name": "x"],
            ]
            let first = await relay.event(members)
            #expect(first.json["activities"] == ["sent": 2, "failed": 0, "queued": 0, "held": 0])
            let pushes = await relay.onLoop { $0.production.pushes }
            #expect(pushes.map(\.deviceToken.text).sorted() == ["5d20", "aad1"])
            let start = try #require(pushes.first { $0.deviceToken.text == "5d20" }).notification.payload
            let aps = try #require(try JSON.parse(start, maxBytes: 4_096)["aps"])
            #expect(aps["event"] == "start" && aps["attributes"] == ["name": "x"])
            #expect(aps["alert"]?["title"] == "Session running")
            let second = await relay.event(members)
            #expect(second.json["activities"]?["sent"] == 0)
        }
    }

    @Test("A phone gets ten starts an hour, however often it registers")
    func startsPerDevice() async throws {
        try await RelayFixture.with { relay in
            func register() async {
                let body: JSON.Value = [
                    "secret": .string(RelayFixture.secret), "deviceToken": "d1", "deviceID": "phone",
                    "pushToStartToken": "5d10", "attributesType": "App.Attributes",
                ]
                #expect(await relay.post("/v1/device/register", body).status == 200)
            }
            func start(_ session: Int) async -> Int? {
                let members: JSON.Value = [
                    "eventType": "start", "contentState": Self.state, "sessionID": .string("ses_\(session)"),
                ]
                return await relay.event(members).json["activities"]?["sent"]?.int
            }
            await register()
            for session in 0..<StorageLimits.activityStartsMax {
                #expect(await start(session) == 1)
                guard session == 4 else { continue }
                let body: JSON.Value = ["secret": .string(RelayFixture.secret), "deviceToken": "d1"]
                #expect(await relay.post("/v1/device/unregister", body).status == 200)
                await register()
            }
            #expect(await start(10) == 0)
            relay.pass(.milliseconds(StorageLimits.activityStartInterval))
            #expect(await start(10) == 1)
        }
    }

    @Test("A start that APNs can't take is made by the session's next start")
    func failedStart() async throws {
        try await RelayFixture.with { relay in
            _ = await relay.post(
                "/v1/device/register",
                [
                    "secret": .string(RelayFixture.secret), "deviceToken": "d1",
                    "pushToStartToken": "5d10", "attributesType": "App.Attributes",
                ])
            let members: JSON.Value = ["eventType": "start", "contentState": Self.state]
            await relay.loop.run { _ in
                relay.production.value.script = { _ in .rejected(503, "ServiceUnavailable") }
            }
            let failed = await relay.event(members)
            #expect(failed.json["activities"] == ["sent": 0, "failed": 1, "queued": 0, "held": 0])
            await relay.loop.run { _ in relay.production.value.script = { .accepted($0) } }
            for sent in [1, 0] {
                let answer = await relay.event(members)
                #expect(answer.json["activities"]?["sent"]?.int == sent)
            }
        }
    }

    @Test("A token stays when a registration doesn't mention it or says null, and goes with an empty text")
    func wishes() async throws {
        try await RelayFixture.with { relay in
            func register(_ members: JSON.Value) async -> Response {
                let own: JSON.Value = ["secret": .string(RelayFixture.secret), "deviceToken": "d1"]
                return await relay.post("/v1/device/register", own.adding(members))
            }
            func kinds() -> Set<PushTokenKind> { Set(relay.storage.state.withLock(\.tokens).map(\.kind)) }
            #expect(await register(["pushToStartToken": "aa"]).json["field"] == "attributesType")
            let all: JSON.Value = [
                "pushToStartToken": "aa", "attributesType": "A", "widgetPushToken": "bb",
                "controlPushToken": "cc",
            ]
            #expect(await register(all).status == 200)
            #expect(kinds() == [.start, .widgets, .controls])
            #expect(await register(["pushToStartToken": nil]).status == 200)
            #expect(kinds() == [.start, .widgets, .controls])
            #expect(await register(["pushToStartToken": "", "widgetPushToken": ""]).status == 200)
            #expect(kinds() == [.controls])
            #expect(await register(["controlPushToken": "xyz"]).json["field"] == "controlPushToken")
        }
    }

    @Test("An activity may take the place of its device's notification, which goes out if it can't")
    func replacing() async throws {
        try await RelayFixture.with { relay in
            for token in ["d1", "d2"] {
                _ = await relay.post(
                    "/v1/device/register",
                    [
                        "secret": .string(RelayFixture.secret), "deviceToken": .string(token),
                        "preferences": ["activityReplacesAlert": true],
                    ])
            }
            #expect(await relay.activity("aad1", device: "d1").status == 200)
            let answer = await relay.event(["eventType": "permission", "contentState": Self.state])
            #expect(answer.json["sent"] == 1 && answer.json["muted"] == 1)
            let pushes = await relay.onLoop { $0.production.pushes }
            #expect(pushes.map(\.deviceToken.text).sorted() == ["aad1", "d2"])
            let activity = try #require(pushes.first { $0.notification.pushType == .liveactivity })
            let aps = try JSON.parse(activity.notification.payload, maxBytes: 4_096)["aps"]
            #expect(aps?["alert"]?["sound"] == "default")
            await relay.loop.run { _ in
                relay.production.value.script = { push in
                    push.deviceToken.text == "aad1" ? .rejected(400, "BadTopic") : .accepted(push)
                }
            }
            let missed = await relay.event(["eventType": "permission", "contentState": Self.state])
            #expect(missed.json["sent"] == 2 && missed.json["muted"] == 0)
            #expect(missed.json["activities"]?["failed"] == 1)
        }
    }

    @Test("Activities belong to registered devices and their apps")
    func registration() async throws {
        try await RelayFixture.with { relay in
            #expect(await relay.activity("aa00").json["code"] == "unknown_device")
            relay.storage.add("d1", under: RelayFixture.key, environment: .sandbox)
            #expect(await relay.activity("aa00", device: "dd").json["field"] == "deviceToken")
            #expect(await relay.activity("aa00", ["bundleId": "org.other"]).json["field"] == "bundleId")
            #expect(await relay.activity("a0", ["sessionID": ""]).json["field"] == "sessionID")
            #expect(await relay.activity("zz").json["field"] == "activityToken")
            #expect(await relay.activity("AA00").status == 200)
            let stored = try #require(relay.storage.state.withLock(\.tokens).first)
            #expect(stored.token == "aa00" && stored.environment == .sandbox && stored.deviceID == nil)
            let session: JSON.Value = ["secret": .string(RelayFixture.secret), "sessionID": "ses_1"]
            for (members, left) in [(["activityToken": "bb"], 1), ([:], 0)] as [(JSON.Value, Int)] {
                let answer = await relay.post("/v1/activity/unregister", session.adding(members))
                #expect(answer.status == 200)
                #expect(relay.storage.state.withLock { $0.tokens.count } == left)
            }
        }
    }

    @Test("States are objects of a bounded size, which start, progress and end need")
    func validation() async throws {
        try await Self.withPhones { relay in
            let long = JSON.Value.string(String(repeating: "x", count: 3_490))
            let cases: [(JSON.Value, String, String)] = [
                (["eventType": "progress"], "missing_field", "contentState"),
                (["eventType": "start"], "missing_field", "contentState"),
                (["eventType": "end"], "missing_field", "contentState"),
                (["contentState": "working"], "invalid_field", "contentState"),
                (["contentState": ["text": long]], "invalid_field", "contentState"),
                (["contentState": Self.state, "attributes": 1], "invalid_field", "attributes"),
                (
                    [
                        "eventType": "start", "contentState": Self.state,
                        "attributes": ["text": long, "more": long],
                    ],
                    "payload_too_large", "contentState"
                ),
            ]
            for (members, code, field) in cases {
                let answer = await relay.event(members)
                #expect(answer.json["code"]?.string == code && answer.json["field"]?.string == field)
            }
        }
    }

    @Test("If activities can't be read, devices are notified; an event for activities alone fails")
    func storageFails() async throws {
        try await Self.withPhones { relay in
            relay.storage.state.withLock { $0.writeFailure = .unavailable(logDetail: "away") }
            let event = await relay.event(["contentState": Self.state])
            #expect(event.json["sent"] == 2)
            let progress = await relay.event(["eventType": "progress", "contentState": Self.state])
            #expect(progress.status == 503)
        }
    }

    @Test(
        "Widgets and controls are reloaded where a token is registered, and fail elsewhere",
        arguments: ["widgets", "controls"])
    func reloads(_ type: String) async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("d2", under: RelayFixture.key)
            _ = await relay.post(
                "/v1/device/register",
                [
                    "secret": .string(RelayFixture.secret), "deviceToken": "d1", "widgetPushToken": "bb01",
                    "controlPushToken": "cc01",
                ])
            func notify(_ members: JSON.Value) async -> Response {
                let own: JSON.Value = ["pushType": .string(type)]
                return await relay.post(
                    "/v1/notify",
                    ["secret": .string(RelayFixture.secret), "notification": own.adding(members)])
            }
            let answer = await notify([:])
            #expect(answer.json["sent"] == 1 && answer.json["failed"] == 1)
            let reasons = answer.json["deliveries"]?.array?.compactMap { $0["reason"]?.string }
            #expect(reasons == ["NoPushToken"])
            let push = try #require(await relay.onLoop { $0.production.pushes.first })
            #expect(push.deviceToken.text == (type == "widgets" ? "bb01" : "cc01"))
            #expect(push.notification.pushType.rawValue == type)
            #expect(
                String(decoding: push.notification.payload, as: UTF8.self)
                    == #"{"aps":{"content-changed":true}}"#)
            #expect(await notify(["title": "x"]).json["field"] == "notification.title")
        }
    }
}

extension RelayFixture {
    /// Registers an activity of the session `ses_1`.
    func activity(
        _ token: String, device: String? = nil, _ members: JSON.Value = [:]
    ) async -> Response {
        var own: JSON.Value = [
            "secret": .string(Self.secret), "sessionID": "ses_1", "activityToken": .string(token),
        ]
        if let device { own = own.adding(["deviceToken": .string(device)]) }
        return await post("/v1/activity/register", own.adding(members))
    }
}

extension JSON.Value {
    /// The object with the given members, which replace its own.
    fileprivate func adding(_ members: JSON.Value) -> JSON.Value {
        var object = self.object ?? JSON.Object()
        for member in members.object?.members ?? [] { object[member.name] = member.value }
        return .object(object)
    }
}
