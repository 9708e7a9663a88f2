import HTTPServer
import JSON
import Network
import Storage
import Testing
import WebPush

@testable import Relay

@Suite("Sending by Web Push", .timeLimit(.minutes(2)))
struct WebPushSendingTests {
    @Test("An event rings a secret's apps and browsers alike")
    func both() async throws {
        try await RelayFixture.with(Browser.options()) { fixture in
            await fixture.registerApp()
            await fixture.register(Browser(page: Browser.page))
            let answer = await fixture.event(["eventType": "permission", "title": "Run?", "body": "make"])
            #expect(answer.json["sent"]?.int == 2)
            let (apns, pushes, messages) = await fixture.onLoop {
                ($0.production.pushes.count, $0.webPush.pushes, $0.webPush.messages)
            }
            #expect(apns == 1)
            let message = try #require(messages.first)
            #expect(message["web_push"]?.int == 8_030 && message["mutable"]?.bool == true)
            let notification = try #require(message["notification"])
            #expect(notification["title"]?.string == "Run?" && notification["body"]?.string == "make")
            #expect(notification["navigate"]?.string == Browser.page)
            #expect(notification["silent"] == nil)
            #expect(notification["data"]?["eventType"]?.string == "permission")
            #expect(notification["data"]?["sessionID"]?.string == "ses_1")
            #expect(notification["data"]?["aps"]?["thread-id"]?.string == "ses_1")
            #expect(notification["data"]?["body"] == nil)
            let handling = try #require(pushes.first).message.handling
            #expect(handling.urgency == .high && handling.timeToLive == 86_400 && handling.topic == nil)
        }
    }

    @Test("Without a page, the message isn't declarative")
    func plain() async throws {
        try await RelayFixture.with(Browser.options()) { fixture in
            await fixture.register()
            _ = await fixture.event()
            let message = try #require(await fixture.onLoop { $0.webPush.messages }.first)
            #expect(message["web_push"] == nil && message["notification"]?["navigate"] == nil)
            #expect(message["notification"]?["title"]?.string?.isEmpty == false)
        }
    }

    @Test("A notification's priority, time to live and collapse ID become headers")
    func handling() async throws {
        try await RelayFixture.with(Browser.options()) { fixture in
            await fixture.register()
            let notification: JSON.Value = [
                "subtitle": "only", "body": "text", "priority": 5, "ttl": 60, "collapseID": "build-7",
            ]
            let answer = await fixture.post(
                "/v1/notify", ["secret": .string(RelayFixture.secret), "notification": notification])
            #expect(answer.json["sent"]?.int == 1)
            let (push, message) = try #require(
                await fixture.onLoop { zip($0.webPush.pushes, $0.webPush.messages).first { _ in true } })
            #expect(push.message.handling.urgency == .normal && push.message.handling.timeToLive == 60)
            let topic = try #require(push.message.handling.topic).text
            #expect(topic.count == 32 && !topic.contains("build"))
            #expect(message["notification"]?["title"]?.string == "only")
            #expect(message["notification"]?["body"]?.string == "text")
            // The push is silent.
            #expect(message["notification"]?["silent"]?.bool == true)
        }
    }

    @Test("Pushes that show nothing don't go to browsers")
    func nothingShown() async throws {
        try await RelayFixture.with(Browser.options()) { fixture in
            await fixture.register()
            for notification in [["pushType": "background"], ["badge": 3], ["sound": "default"]]
                as [JSON.Value]
            {
                let answer = await fixture.post(
                    "/v1/notify", ["secret": .string(RelayFixture.secret), "notification": notification])
                #expect(answer.json["muted"]?.int == 1)
            }
            #expect(await fixture.onLoop { $0.webPush.pushes.isEmpty })
        }
    }

    @Test("In quiet hours it comes without a sound, and later if the device prefers")
    func quiet() async throws {
        try await RelayFixture.with(Browser.options()) { fixture in
            for (mode, name) in [("quiet", "one"), ("later", "two")] {
                let quiet: JSON.Value = [
                    "quietHours": ["from": "00:00", "to": "23:59", "timeZone": "UTC", "mode": .string(mode)]
                ]
                let members: JSON.Value = ["preferences": quiet]
                await fixture.register(
                    Browser(endpoint: "https://push.example.org/\(name)", members: members))
            }
            let answer = await fixture.event()
            #expect(answer.json["sent"]?.int == 1 && answer.json["queued"]?.int == 1)
            #expect(
                await fixture.onLoop { $0.webPush.messages }.map { $0["notification"]?["silent"]?.bool } == [
                    true
                ])
            #expect(fixture.storage.state.withLock { $0.schedules.count } == 1)
        }
    }

    @Test("A sealed text arrives whole, and a service that finds it too large gets the message without it")
    func sealed() async throws {
        let sealed = "AQ" + String(repeating: "x", count: 2_998)
        try await RelayFixture.with(Browser.options()) { fixture in
            await fixture.register(Browser(page: Browser.page, members: ["sealed": [1]]))
            await fixture.onLoop { $0.webPush.script = Self.refuseLarge }
            let answer = await fixture.event(["sealed": .string(sealed)])
            #expect(answer.json["sent"]?.int == 1)
            let messages = await fixture.onLoop { $0.webPush.messages }
            #expect(messages.map { $0["notification"]?["data"]?["sealed"]?.string } == [sealed, nil])
        }
    }

    /// Responds as Mozilla's service does for Firefox on Android.
    private static func refuseLarge(_ push: Push) -> Outcome {
        push.message.payload.count > 2_912 ? .refused(.tooLarge, 413) : .accepted
    }

    @Test("A message that would be too large is shortened, its sealed text last")
    func sizes() throws {
        let limit = MessageEncryption.plaintextBytesMax
        func payload(_ body: Int, sealed: Int) -> [UInt8] {
            let text = #"{"aps":{"alert":{"title":"T","body":"\#(String(repeating: "b", count: body))"}}"#
            let rest = sealed == 0 ? "}" : #","sealed":"\#(String(repeating: "s", count: sealed))"}"#
            return Array((text + rest).utf8)
        }
        for (body, sealed, keepsSealed) in [(3_900, 0, false), (100, 3_600, true), (20, 3_990, false)] {
            let made = try #require(WebPushPayload(payload(body, sealed: sealed), page: Browser.page))
            let message = try JSON.parse(made.bytes(), maxBytes: limit)
            #expect(message["notification"]?["title"]?.string == "T")
            #expect((message["notification"]?["data"]?["sealed"] != nil) == keepsSealed)
        }
        #expect(WebPushPayload(Array(#"{"aps":{"badge":1}}"#.utf8), page: nil) == nil)
        #expect(WebPushPayload(Array("[]".utf8), page: nil) == nil)
    }

    @Test("Data that leaves no room is left out of the message, so that the text is shown")
    func muchData() throws {
        let data = String(repeating: "d", count: 3_900)
        let payload = Array(#"{"aps":{"alert":{"title":"T"}},"kind":"build","own":"\#(data)"}"#.utf8)
        let made = try #require(WebPushPayload(payload, page: Browser.page))
        for limit in [MessageEncryption.plaintextBytesMax, WebPushMessages.smallBytesMax] {
            let message = try JSON.parse(made.bytes(limit: limit), maxBytes: limit)
            #expect(message["notification"]?["title"]?.string == "T")
            #expect(message["notification"]?["data"]?["kind"]?.string == "build")
            #expect(message["notification"]?["data"]?["own"] == nil)
        }
    }

    @Test("A long readable text reaches Firefox on Android, shortened")
    func android() async throws {
        try await RelayFixture.with(Browser.options()) { fixture in
            await fixture.register()
            await fixture.onLoop { $0.webPush.script = Self.refuseLarge }
            let answer = await fixture.event(["body": .string(String(repeating: "b", count: 3_500))])
            #expect(answer.json["sent"]?.int == 1)
            let pushes = await fixture.onLoop { $0.webPush.pushes }
            #expect(pushes.count == 2 && pushes[1].message.payload.count <= 2_912)
        }
    }

    @Test("What keeps the relay from connecting to a host that a tenant chose is told as one reason")
    func reasons() {
        for cause in [
            WebPush.Unreachable.Cause.nameNotResolved, .addressNotPublic, .tlsFailed, .connectTimeout,
        ] {
            let outcome = Outcome.unreachable(Unreachable(processed: .notSent, cause: cause))
            func step(_ service: PushService) -> WebPushPolicy.Step {
                WebPushPolicy.step(after: outcome, of: service, mayShrink: false, firstSentAt: 0)
            }
            let retry = OutcomePolicy.RetryLater(reason: "ConnectFailed", cause: .unreachable)
            #expect(step(.other) == .end(.retryLater(retry)))
            #expect(step(.mozilla) != step(.other))
        }
    }

    @Test("A subscription that has ended is removed, unless it was registered again since")
    func gone() async throws {
        try await RelayFixture.with(Browser.options()) { fixture in
            await fixture.register()
            fixture.pass(.seconds(1))
            await fixture.onLoop { $0.webPush.script = { _ in .refused(.gone, 410) } }
            let answer = await fixture.event()
            #expect(answer.json["failed"]?.int == 1)
            #expect(answer.json["deliveries"]?.array?.first?["removed"]?.bool == true)
            #expect(fixture.storage.state.withLock { $0.devices.isEmpty })
        }
    }

    @Test(
        "No other refusal removes a subscription",
        arguments: [
            (Rejection.Kind.wrongKey, 403), (.configuration, 401), (.tooLarge, 413), (.refused, 400),
            (.later, 503), (.later, 429),
        ])
    func kept(_ kind: Rejection.Kind, _ status: Int) async throws {
        try await RelayFixture.with(Browser.options()) { fixture in
            await fixture.register()
            fixture.pass(.seconds(1))
            await fixture.onLoop { $0.webPush.script = { _ in .refused(kind, status) } }
            let answer = await fixture.event()
            #expect(answer.json[kind == .later ? "queued" : "failed"]?.int == 1)
            #expect(fixture.storage.state.withLock { $0.devices.count } == 1)
            // The page chose the key with which a subscription was made.
            let faults = kind == .configuration ? 1 : 0
            #expect(await eventually { fixture.lines.count(of: "webpush.configuration") == faults })
        }
    }

    @Test("A push that a service puts off is sent again when the service said")
    func retried() async throws {
        try await RelayFixture.with(Browser.options()) { fixture in
            await fixture.register()
            await fixture.onLoop { $0.webPush.script = { _ in .refused(.later, 503, retryAfter: 120) } }
            #expect(await fixture.event().json["queued"]?.int == 1)
            let due = try #require(fixture.pending.first).push.dueAt
            #expect(due >= RelayFixture.start + 120_000)
            await fixture.onLoop { $0.webPush.script = { _ in .accepted } }
            fixture.pass(.seconds(200))
            try await fixture.withWorker { _ in
                #expect(await fixture.until { $0.webPush.pushes.count == 2 })
            }
            let messages = await fixture.onLoop { $0.webPush.messages }
            #expect(messages.count == 2 && messages.first == messages.last)
        }
    }

    @Test("A queued push whose relay no longer sends by Web Push waits for one that does")
    func queuedWithout() async throws {
        let storage = FakeStorage()
        var options = try Browser.options()
        options.storage = storage
        try await RelayFixture.with(options) { fixture in
            await fixture.register()
            await fixture.onLoop { $0.webPush.script = { _ in .refused(.later, 503) } }
            #expect(await fixture.event().json["queued"]?.int == 1)
        }
        options.webPush = nil
        try await RelayFixture.with(options) { fixture in
            fixture.pass(.seconds(60))
            let before = try #require(fixture.pending.first).push
            try await fixture.withWorker { _ in
                #expect(
                    await fixture.until { _ in fixture.storage.state.withLock { !$0.claimScopes.isEmpty } })
            }
            await fixture.writeEnds()
            let after = try #require(fixture.pending.first).push
            #expect(after.dueAt > before.dueAt && after.attempts > before.attempts)
            #expect(await fixture.event().json["failed"]?.int == 1)
        }
    }

    @Test("Each subscription gets pushes under the key that it was made with")
    func rotation() async throws {
        let (old, new) = (VAPIDKey(), VAPIDKey())
        let storage = FakeStorage()
        var options = try Browser.options(Browser.keys(old))
        options.storage = storage
        try await RelayFixture.with(options) { fixture in
            #expect(await fixture.register(Browser(endpoint: "https://push.example.org/old")) == nil)
        }
        options.webPush = try Browser.keys(new, [old])
        try await RelayFixture.with(options) { fixture in
            await fixture.register(Browser(endpoint: "https://push.example.org/new"))
            #expect(await fixture.event().json["sent"]?.int == 2)
            // The page that registers at each start hasn't subscribed again.
            #expect(await fixture.register(Browser(endpoint: "https://push.example.org/old")) == nil)
            #expect(await fixture.event(["sessionID": "ses_2"]).json["sent"]?.int == 2)
            let pushes = await fixture.onLoop { $0.webPush.pushes }
            #expect(
                Set(pushes.map { [$0.subscription.endpoint.url, $0.key.keyID] }) == [
                    ["https://push.example.org/old", old.keyID], ["https://push.example.org/new", new.keyID],
                ])
        }
        options.webPush = try Browser.keys(new)
        try await RelayFixture.with(options) { fixture in
            let answer = await fixture.event()
            #expect(answer.json["sent"]?.int == 1 && answer.json["failed"]?.int == 1)
            #expect(String(decoding: answer.body, as: UTF8.self).contains("VapidPkHashMismatch"))
            #expect(storage.state.withLock { $0.devices.count } == 2)
        }
    }

    @Test("Attempts and results are counted as those of Web Push")
    func counted() async throws {
        try await RelayFixture.with(Browser.options()) { fixture in
            await fixture.register()
            _ = await fixture.event()
            await fixture.onLoop { $0.webPush.script = { _ in .refused(.gone, 410) } }
            _ = await fixture.event(["sessionID": "ses_2"])
            let samples = await fixture.onLoop { $0.services.counts.attemptSamples }
            let labels = samples.map(\.labels)
            #expect(labels.contains(["webpush", "production", "webpush", "accepted", "none"]))
            #expect(labels.contains(["webpush", "production", "webpush", "rejected", "other"]))
            #expect(!labels.contains { $0[0] == "webpush" && $0[1] == "sandbox" })
        }
    }
}
