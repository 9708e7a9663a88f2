import Foundation
import PushSealing
import Testing

@testable import RelayClient

@Suite("Requests to the relay", .timeLimit(.minutes(1)))
struct RelayTests {
    private let pairing: Pairing
    private let token: DeviceToken

    init() throws {
        pairing = try Pairing(relayURL: "https://relay.example/push", hosts: ["h"], serverID: "9f2c")
        token = try #require(DeviceToken(hex: "00FC13AD"))
    }

    @Test("A registration says all that it knows, the token in lower case")
    func register() async throws {
        let test = try TestRelay(pairing)
        var registration = Registration(token: token)
        registration.bundleID = "org.example.app"
        registration.environment = .sandbox
        registration.deviceID = "install-1"
        registration.deviceName = "Ada's phone"
        registration.preferences = Preferences()
        registration.preferences?.eventTypes = ["error"]
        registration.preferences?.quietHours = .init(from: "22:00", to: "07:00", timeZone: "Europe/Berlin")
        #expect(try await test.relay.register(registration, registrationKey: "k") == .registered)
        let request = try #require(await test.transport.requests.first)
        #expect(request.url == "https://relay.example/push/v1/device/register")
        #expect(request.authorization == "Bearer k")
        #expect(request.body["secret"]?.string == pairing.relaySecret)
        #expect(request.body["deviceToken"] == .string("00fc13ad"))
        #expect(
            request.body["apnsEnv"] == .string("sandbox") && request.body["deviceID"] == .string("install-1"))
        #expect(request.body["sealed"] == .array([.integer(1)]))
        #expect(request.body["preferences"]?["quietHours"]?["allowPermission"] == .bool(true))
        #expect(request.body["preferences"]?["eventTypes"] == .array([.string("error")]))
        #expect(request.body["key"] == nil && request.body["osVersion"] == nil)
    }

    @Test("Preferences that were read are the same when they are set again")
    func preferences() async throws {
        let stored = """
            {"eventTypes":["error"],"quietHours":{"from":"22:00","to":"07:00","timeZone":"UTC",
             "allowPermission":false,"mode":"later"},"timeZone":"Asia/Tokyo","badge":"unread","perHour":5,"perDay":20,
             "activityReplacesAlert":true}
            """
        let devices = #"{"ok":true,"devices":[{"device":"…1","preferences":\#(stored)}]}"#
        let test = try TestRelay(pairing, [.init(body: devices), .init()])
        let preferences = try #require(try await test.relay.devices().first?.preferences)
        #expect(preferences.quietHours?.mode == .later && preferences.badge == .unread)
        #expect(preferences.perHour == 5 && preferences.perDay == 20 && preferences.activityReplacesAlert)
        var registration = Registration(token: token)
        registration.preferences = preferences
        _ = try await test.relay.register(registration)
        let sent = try #require(await test.transport.requests.last?.body["preferences"])
        for name in ["eventTypes", "timeZone", "badge", "perHour", "perDay", "activityReplacesAlert"] {
            #expect(sent[name] != nil)
        }
        for name in ["from", "to", "timeZone", "allowPermission", "mode"] {
            #expect(sent["quietHours"]?[name] != nil)
        }
        #expect(Preferences(sent) == preferences)
        registration.preferences = Preferences()
        _ = try await test.relay.register(registration)
        #expect(await test.transport.requests.last?.body["preferences"] == .object([]))
    }

    @Test("A pairing without a key registers as OpenCode's app does, and seals nothing")
    func stock() async throws {
        let stock = try Pairing(parsing: #"{"relayURL":"https://r","relaySecret":"s","hosts":["h"]}"#)
        let test = try TestRelay(stock)
        _ = try await test.relay.register(Registration(token: token))
        #expect(await test.transport.requests.first?.body["sealed"] == nil)
        _ = try await test.relay.sendTestPush()
        #expect(await test.transport.requests.last?.body["sealed"] == nil)
        let message = SealedMessage(id: "1", sentAt: 0, body: "b")
        await #expect(throws: RelayError.noKey) {
            try await test.relay.send(message, eventType: "error", sessionID: "s")
        }
    }

    @Test("A challenge is told from a registration")
    func challenge() async throws {
        let body = #"{"ok":true,"registered":false,"challengeID":"0191","expiresIn":600}"#
        let test = try TestRelay(pairing, [.init(status: 202, body: body)])
        let outcome = try await test.relay.register(Registration(token: token))
        #expect(outcome == .challenged(id: "0191", expiresIn: 600))
    }

    @Test("An event is sealed and shows the relay no text; the phone opens it")
    func event() async throws {
        let result =
            #"{"ok":true,"sent":1,"failed":0,"queued":2,"muted":3,"deliveries":[{"device":"…1","status":"sent"}]}"#
        let test = try TestRelay(pairing, [.init(body: result)])
        let message = SealedMessage(id: "evt_1", sentAt: 1_795_350_000, title: "Fix auth bug", body: "Done.")
        let sent = try await test.relay.send(message, eventType: "complete", sessionID: "private")
        #expect(
            sent.sent == 1 && sent.queued == 2 && sent.muted == 3 && sent.deliveries.first?.device == "…1")
        let body = try #require(await test.transport.requests.first?.body)
        #expect(!body.text.contains("Fix auth bug") && body["title"] == nil && body["body"] == nil)
        #expect(body["eventID"] == .string("evt_1") && body["serverID"] == .string("9f2c"))
        let key = try #require(pairing.key?.notificationKey)
        let sealed = try #require(body["sealed"]?.string)
        #expect(try Envelope.open(sealed, type: "complete", with: [key]) == message)
        let long = SealedMessage(id: "1", sentAt: 0, body: String(repeating: "x", count: 3000))
        await #expect(throws: RelayError.unsealable(.tooLarge)) {
            try await test.relay.send(long, eventType: "complete", sessionID: "s")
        }
    }

    @Test("Lists of devices and of the history are read, with members that are missing and unknown")
    func lists() async throws {
        let devices = """
            {"ok":true,"devices":[
              {"device":"…d4e5f6a7","bundleId":"com.example.app","apnsEnv":"production","sealed":[1,2],"later":{},
               "createdAt":"2026-11-21T12:47:37.123Z","preferences":{"eventTypes":["error"],"quietHours":
                 {"from":"22:00","to":"07:00","timeZone":"UTC","allowPermission":false}},
               "lastPush":{"at":"2026-11-21T12:48:02.004Z","status":"failed","reason":"BadTopic"}},
              {"device":"…1"}]}
            """
        let history = """
            {"ok":true,"unread":1,"items":[
              {"id":"a","createdAt":"2026-11-21T12:47:37.123Z","eventType":"complete","sealed":"AS0"},
              {"id":"b","readAt":"2026-11-21T12:47:37.123Z"}],"next":"b"}
            """
        let answers = [devices, history, #"{"ok":true,"unread":7}"#, #"{"ok":true,"unread":0}"#]
        let test = try TestRelay(pairing, answers.map { .init(body: $0) })
        let list = try await test.relay.devices()
        #expect(list.count == 2 && list[0].opensSealed == [1, 2] && list[0].lastPush?.reason == "BadTopic")
        #expect(list[0].createdAt?.timeIntervalSince1970.rounded() == 1_795_265_257)
        #expect(list[0].preferences?.quietHours?.allowPermission == false && list[1].environment == nil)
        let page = try await test.relay.history(after: "z", limit: 2)
        #expect(page.items.map(\.id) == ["a", "b"] && page.next == "b" && page.unread == 1)
        #expect(page.items[0].readAt == nil && page.items[1].readAt != nil)
        #expect(try await test.relay.markRead(["a"]) == 7)
        #expect(try await test.relay.markRead() == 0)
        let bodies = await test.transport.requests.map(\.body)
        #expect(bodies[1]["before"] == .string("z") && bodies[1]["limit"] == .integer(2))
        #expect(bodies[2]["ids"] == .array([.string("a")]) && bodies[3]["all"] == .bool(true))
    }

    @Test("Events are acknowledged and replied to, sealed where the pairing has a key")
    func replies() async throws {
        let test = try TestRelay(pairing)
        try await test.relay.acknowledge("evt")
        let reply = SealedReply(action: "once", text: "yes", sentAt: 7)
        try await test.relay.reply(reply, to: "evt")
        let requests = await test.transport.requests
        #expect(requests.map(\.url) == ["ack", "reply"].map { "https://relay.example/push/v1/" + $0 })
        #expect(requests.allSatisfy { $0.body["eventID"] == .string("evt") })
        #expect(requests[1].body["action"] == nil && requests[1].body["text"] == nil)
        let key = SealedReply.Key(try #require(pairing.key))
        let sealed = try #require(requests[1].body["sealed"]?.string)
        #expect(try SealedReply(opening: sealed, for: "evt", with: [key]) == reply)

        let stock = try Pairing(parsing: #"{"relayURL":"https://r","relaySecret":"s","hosts":["h"]}"#)
        let readable = try TestRelay(stock)
        try await readable.relay.reply(reply, to: "evt")
        let body = try #require(await readable.transport.requests.first?.body)
        #expect(body["action"] == .string("once") && body["text"] == .string("yes") && body["sealed"] == nil)
    }

    @Test("What is sent later is created, listed and cancelled; a sealed text stays sealed")
    func schedules() async throws {
        let list = """
            {"ok":true,"schedules":[
              {"id":"a","name":"n","nextAt":"2026-11-24T08:20:00.000Z","createdAt":"2026-11-23T08:00:00.000Z","skipped":2,
               "every":{"unit":"week","interval":2,"at":["09:20"],"on":["mon","fri"],"timeZone":"device"},"lastOutcome":"sent"},
              {"id":"b","every":{"unit":"month","on":[1,-1]}},{"later":1}]}
            """
        let created = #"{"ok":true,"id":"a","nextAt":"2026-11-24T08:20:00.000Z"}"#
        let answers = [
            created, created, created, list, #"{"ok":true,"cancelled":1}"#, #"{"ok":true,"cancelled":0}"#,
        ]
        let test = try TestRelay(pairing, answers.map { .init(body: $0) })
        var snooze = NewSchedule(.notification(VisibleNotification(title: "T")), .after(seconds: 3600))
        snooze.device = token
        let date = try #require(try await test.relay.schedule(snooze).nextAt)
        #expect(date.timeIntervalSince1970.rounded() == 1_795_508_400)
        var weekly = Recurrence(.week, times: ["09:20"], timeZone: Recurrence.deviceTimeZone)
        weekly.weekdays = [.mon, .fri]
        weekly.interval = 2
        weekly.until = date
        let message = SealedMessage(id: "evt", sentAt: 1, body: "Secret")
        var recurring = NewSchedule(.event(message, type: "error", sessionID: "s"), .every(weekly))
        recurring.name = "n"
        recurring.lateBy = 60
        recurring.window = 0
        _ = try await test.relay.schedule(recurring)
        let both = NewSchedule.Content.notification(VisibleNotification(title: "T"), sealed: message)
        _ = try await test.relay.schedule(NewSchedule(both, .at(date)))
        let listed = try await test.relay.schedules()
        #expect(listed.map(\.id) == ["a", "b"] && listed[0].skipped == 2 && listed[0].nextAt == date)
        weekly.until = nil
        #expect(listed[0].every == weekly && listed[1].every?.monthDays == [1, -1])
        #expect(try await test.relay.cancelSchedule(id: "a"))
        #expect(try await !test.relay.cancelSchedule(name: "n"))

        let requests = await test.transport.requests
        let names = ["create", "create", "create", "list", "cancel", "cancel"]
        #expect(requests.map(\.url) == names.map { "https://relay.example/push/v1/schedule/" + $0 })
        let bodies = requests.map(\.body)
        #expect(bodies[0]["in"] == .integer(3600) && bodies[0]["deviceToken"] == .string("00fc13ad"))
        #expect(bodies[0]["name"]?.string?.isEmpty == false && bodies[0]["sealed"] == nil)
        #expect(bodies[1]["name"] == .string("n") && bodies[1]["notification"] == nil)
        #expect(bodies[1]["every"]?["on"] == .array([.string("mon"), .string("fri")]))
        #expect(bodies[1]["every"]?["until"] == .string("2026-11-24T08:20:00.000Z"))
        #expect(bodies[1]["lateBy"] == .integer(60) && bodies[1]["window"] == .integer(0))
        #expect(bodies[2]["at"] == .string("2026-11-24T08:20:00.000Z"))
        let key = try #require(pairing.key?.notificationKey)
        for (body, type) in [(bodies[1], "error"), (bodies[2], "notify")] {
            #expect(!body.text.contains("Secret"))
            let sealed = try #require(body["sealed"]?.string)
            #expect(try Envelope.open(sealed, type: type, with: [key]) == message)
        }
        #expect(bodies[4]["id"] == .string("a") && bodies[5]["name"] == .string("n"))
    }

    @Test("Live Activities and their tokens are registered and removed")
    func activities() async throws {
        let test = try TestRelay(pairing)
        let activity = try #require(DeviceToken(hex: "80F2"))
        try await test.relay.registerActivity(activity, sessionID: "ses_1", on: token)
        try await test.relay.unregisterActivity(activity, sessionID: "ses_1")
        try await test.relay.unregisterActivity(sessionID: "ses_1")
        var registration = Registration(token: token)
        registration.pushToStart = .init(token: activity, attributesType: "SessionAttributes")
        registration.preferences = Preferences()
        registration.preferences?.timeZone = "Europe/Berlin"
        _ = try await test.relay.register(registration)
        let requests = await test.transport.requests
        let names = ["activity/register", "activity/unregister", "activity/unregister", "device/register"]
        #expect(requests.map(\.url) == names.map { "https://relay.example/push/v1/" + $0 })
        let bodies = requests.map(\.body)
        #expect(bodies[0...2].allSatisfy { $0["sessionID"] == .string("ses_1") })
        #expect(
            bodies[0]["activityToken"] == .string("80f2") && bodies[0]["deviceToken"] == .string("00fc13ad"))
        #expect(bodies[1]["activityToken"] == .string("80f2") && bodies[2]["activityToken"] == nil)
        #expect(bodies[3]["pushToStartToken"] == .string("80f2"))
        #expect(bodies[3]["attributesType"] == .string("SessionAttributes"))
        #expect(bodies[3]["preferences"]?["timeZone"] == .string("Europe/Berlin"))
    }

    @Test("Busy relays are asked again, as late as they say and no more than three times")
    func retries() async throws {
        let busy = FakeTransport.Answer(
            status: 429, body: #"{"ok":false,"error":"Too many requests.","code":"rate_limited"}"#,
            headers: ["Retry-After": "7"])
        let proxy = FakeTransport.Answer(status: 503, body: "<html>")
        let test = try TestRelay(pairing, [busy, proxy, .init()])
        try await test.relay.unregister(token)
        #expect(await test.sleep.waits == [.seconds(7), .seconds(2)])
        let over = try TestRelay(pairing, [busy, busy, busy, .init()])
        await #expect(throws: RelayError.self) { try await over.relay.unregister(token) }
        #expect(await over.transport.requests.count == 3)
        // Ten minutes is longer than the policy's deadline, so the call doesn't wait.
        var full = busy
        full.headers = ["Retry-After": "600"]
        let late = try TestRelay(pairing, [full, .init()])
        await #expect(throws: RelayError.self) { try await late.relay.unregister(token) }
        #expect(await late.sleep.waits.isEmpty)
    }

    @Test("Every failure has its error")
    func failures() async throws {
        let blocked = #"{"ok":false,"error":"Blocked.","code":"blocked","field":"secret"}"#
        let rejection = Rejection(
            status: 403, code: .blocked, sentence: "Blocked.", field: "secret", retryAfter: nil)
        let cases: [(FakeTransport.Answer, RelayError)] = [
            (.init(status: 403, body: blocked), .rejected(rejection)),
            (.init(status: 502, body: "Bad Gateway"), .unexpectedAnswer(status: 502)),
            (.init(status: 301, body: ""), .unexpectedAnswer(status: 301)),
            (.init(body: "<html>"), .unexpectedAnswer(status: 200)),
            (.init(body: "{}"), .unexpectedAnswer(status: 200)),
            (.init(failure: .timedOut), .timedOut), (.init(failure: .cancelled), .cancelled),
        ]
        for (answer, error) in cases {
            let test = try TestRelay(pairing, [answer])
            await #expect(throws: error) { try await test.relay.unregister(token) }
            #expect(await test.transport.requests.count == 1)
        }
        let lost = try TestRelay(pairing, [.init(failure: .networkConnectionLost)])
        await #expect(throws: RelayError.self) { try await lost.relay.devices() }
    }

    @Test("Tokens are compared by their bytes")
    func tokens() {
        #expect(DeviceToken(Data([0, 0xFC, 0x13, 0xAD])) == token)
        #expect(token.description == "…00fc13ad")
        for hex in ["", "0", "0g", String(repeating: "0", count: 402)] {
            #expect(DeviceToken(hex: hex) == nil)
        }
    }
}
