import Foundation
import PushSealing
import Testing

@testable import RelayClient

@Suite("Notifications, acknowledgements and replies", .timeLimit(.minutes(1)))
struct ReplyTests {
    private let pairing: Pairing
    private let stock: Pairing

    init() throws {
        pairing = try Pairing(relayURL: "https://relay.example", hosts: ["h"])
        stock = try Pairing(parsing: #"{"relayURL":"https://r","relaySecret":"s","hosts":["h"]}"#)
    }

    @Test("A notification names its actions to the relay, and repeats its ID")
    func notify() async throws {
        let test = try TestRelay(stock)
        var visible = VisibleNotification(title: "Deploy?")
        visible.subtitle = "web"
        visible.actions = ["yes", "no"]
        _ = try await test.relay.notify(visible, to: DeviceToken(hex: "AA01"), eventID: "evt")
        _ = try await test.relay.notify(VisibleNotification(title: "T"))
        let bodies = await test.transport.requests.map(\.body)
        #expect(await test.transport.requests.first?.url == "https://r/v1/notify")
        #expect(bodies[0]["eventID"] == .string("evt") && bodies[0]["deviceToken"] == .string("aa01"))
        #expect(bodies[0]["notification"]?["subtitle"] == .string("web"))
        #expect(bodies[0]["notification"]?["actions"] == .array([.string("yes"), .string("no")]))
        #expect(bodies[1]["notification"]?["actions"] == nil && bodies[1]["deviceToken"] == nil)
        #expect(bodies[1]["eventID"]?.string?.isEmpty == false)
    }

    @Test("The actions of a sealed message are sealed, and the relay knows them to refuse others")
    func sealedActions() async throws {
        let test = try TestRelay(pairing)
        var message = SealedMessage(id: "evt", sentAt: 7, title: "Secret")
        message.properties.actions = ["once", "reject"]
        _ = try await test.relay.notify(VisibleNotification(title: "T"), sealed: message, eventID: "other")
        _ = try await test.relay.send(message, eventType: "permission", sessionID: "s")
        let bodies = await test.transport.requests.map(\.body)
        let actions = JSONValue.array([.string("once"), .string("reject")])
        #expect(bodies[0]["notification"]?["actions"] == actions && bodies[1]["actions"] == actions)
        let key = try #require(pairing.key?.notificationKey)
        for (body, type) in zip(bodies, ["notify", "permission"]) {
            #expect(body["eventID"] == .string("evt") && !body.text.contains("Secret"))
            let sealed = try #require(body["sealed"]?.string)
            #expect(try Envelope.open(sealed, type: type, with: [key]) == message)
        }
    }

    @Test("An acknowledgement removes the notification from other phones only if asked to")
    func clear() async throws {
        let test = try TestRelay(pairing)
        try await test.relay.acknowledge("evt")
        try await test.relay.acknowledge("evt", clear: true)
        let bodies = await test.transport.requests.map(\.body)
        #expect(bodies[0]["clear"] == nil && bodies[1]["clear"] == .bool(true))
        let push = #"{"aps":{"content-available":1},"clear":{"eventID":"evt"}}"#
        #expect(PushPayload(json: Array(push.utf8))?.clearedEventID == "evt")
        let event = #"{"aps":{},"eventID":"evt","actions":["once",1,"reject"],"clear":"evt"}"#
        let payload = try #require(PushPayload(json: Array(event.utf8)))
        #expect(payload.clearedEventID == nil && payload.actions == ["once", "reject"])
    }

    @Test("Waiting asks again until somebody replies or the time is over")
    func waiting() async throws {
        let reply = SealedReply(action: "once", sentAt: 7)
        let sealed = try reply.sealed(for: "evt", with: SealedReply.Key(try #require(pairing.key)))
        let seen = #"{"ok":true,"acknowledgedAt":"2026-11-21T12:47:37.123Z"}"#
        let replied = #"{"ok":true,"reply":{"sealed":"\#(sealed)"}}"#
        let test = try TestRelay(pairing, [.init(), .init(body: replied)])
        #expect(try await test.relay.waitForReply(to: "evt", seconds: 40).reply == .sealed(reply))
        let late = try TestRelay(pairing, [.init(), .init(), .init(body: seen)])
        let status = try await late.relay.waitForReply(to: "evt", seconds: 40)
        #expect(status.reply == nil && status.acknowledgedAt != nil)
        let timeouts = await late.transport.requests.map { $0.body["timeout"] }
        #expect(timeouts == [.integer(15), .integer(15), .integer(10)])
        let once = try TestRelay(pairing)
        _ = try await once.relay.waitForReply(to: "evt", seconds: 0)
        #expect(await once.transport.requests.map { $0.body["timeout"] } == [.integer(0)])
    }

    @Test("A reply to another event is refused, and a readable one is told from a sealed one")
    func untrusted() async throws {
        let sealed = try SealedReply(action: "once", sentAt: 7).sealed(
            for: "other", with: SealedReply.Key(try #require(pairing.key)))
        let readable = #"{"ok":true,"reply":{"action":"once","text":"yes"}}"#
        let test = try TestRelay(
            pairing, [.init(body: #"{"ok":true,"reply":{"sealed":"\#(sealed)"}}"#), .init(body: readable)])
        #expect(try await test.relay.waitForReply(to: "evt").reply == .refused(.notAuthentic))
        #expect(
            try await test.relay.waitForReply(to: "evt").reply == .readable(action: "once", text: "yes"))
    }

    @Test("Outcomes are waited for and read, each page after the one before")
    func outcomes() async throws {
        let key = SealedReply.Key(try #require(pairing.key))
        let reply = SealedReply(action: "once", sentAt: 7)
        let sealed = try reply.sealed(for: "evt", with: key)
        let page = """
            {"ok":true,"outcomes":[
              {"type":"push","at":"2026-11-21T12:47:37.123Z","status":"sent","eventID":"evt","apnsID":"1",
               "device":"…d4e5f6a7","later":1},
              {"type":"push","status":"failed","reason":"Expired","removed":true},
              {"type":"acknowledgement","eventID":"evt"},{"type":"reply","eventID":"evt","sealed":"\(sealed)"},
              {"type":"later"}],"cursor":"2-0-0-"}
            """
        let empty = #"{"ok":true,"outcomes":[],"cursor":"1-0-0-"}"#
        let test = try TestRelay(pairing, [.init(body: empty), .init(body: page), .init(body: empty)])
        let found = try await test.relay.outcomes(limit: 9, seconds: 20)
        #expect(
            found.outcomes.map(\.content) == [
                .push(eventID: "evt", apnsID: "1", device: "…d4e5f6a7", failure: nil),
                .push(eventID: nil, apnsID: nil, device: nil, failure: "Expired"),
                .acknowledgement(eventID: "evt"),
                .reply(.sealed(reply), eventID: "evt"), .other(type: "later"),
            ])
        #expect(found.cursor == "2-0-0-" && found.outcomes[0].at != nil && found.outcomes[1].at == nil)
        #expect(try await test.relay.outcomes(after: found.cursor).outcomes == [])
        let bodies = await test.transport.requests.map(\.body)
        #expect(bodies.map { $0["cursor"] } == [nil, .string("1-0-0-"), .string("2-0-0-")])
        #expect(bodies.map { $0["timeout"] } == [.integer(15), .integer(5), .integer(0)])
        #expect(bodies[0]["limit"] == .integer(9))
    }

    @Test("The result of a reply is asked for with the reply as it was sent, until there is one")
    func result() async throws {
        let key = SealedResult.Key(try #require(pairing.key))
        let test = try TestRelay(pairing)
        let sent = try await test.relay.reply(SealedReply(action: "once", sentAt: 7), to: "evt")
        let reply = try #require(sent.sealed)
        #expect(sent.action == nil && sent.eventID == "evt")
        let taken = SealedResult(outcome: .taken, ofReply: reply, sentAt: 8)
        func body(_ result: SealedResult) throws -> String {
            #"{"ok":true,"result":{"sealed":"\#(try result.sealed(for: "evt", with: key))"}}"#
        }
        // The app can store the sent reply and ask for the result after a restart.
        let kept = try JSONDecoder().decode(SentReply.self, from: JSONEncoder().encode(sent))
        let asking = try TestRelay(pairing, [.init(), .init(body: try body(taken))])
        #expect(try await asking.relay.result(of: kept, seconds: 40) == .sealed(taken))
        let bodies = await asking.transport.requests.map(\.body)
        #expect(bodies.map { $0["sealed"] } == [.string(reply), .string(reply)])
        #expect(bodies.map { $0["timeout"] } == [.integer(15), .integer(15)])
        let other = SealedResult(outcome: .taken, ofReply: "AQ", sentAt: 8)
        for (answer, expected) in [
            (try body(other), .refused(.notAuthentic)),
            // The relay could have made this result up.
            (#"{"ok":true,"result":{"outcome":"taken"}}"#, .readable(outcome: .taken, reason: nil)),
            (#"{"ok":true}"#, nil),
        ] as [(String, ReplyResult?)] {
            let test = try TestRelay(pairing, [.init(body: answer)])
            #expect(try await test.relay.result(of: sent, seconds: 0) == expected)
        }
        let plain = try TestRelay(stock)
        let readable = try await plain.relay.reply(
            SealedReply(action: "reject", text: "no", sentAt: 7), to: "evt")
        #expect(readable.action == "reject" && readable.text == "no" && readable.sealed == nil)
    }

    @Test("A sender reports a result sealed if the pairing has a key")
    func report() async throws {
        let result = SealedResult(outcome: .refused, reason: "changed", ofReply: "AQ", sentAt: 7)
        let test = try TestRelay(pairing)
        try await test.relay.report(result, of: "evt")
        let body = try #require(await test.transport.requests.first?.body)
        let opened = try SealedResult(
            opening: try #require(body["sealed"]?.string), for: "evt", ofReply: "AQ",
            with: [SealedResult.Key(try #require(pairing.key))])
        #expect(opened == result && body["outcome"] == nil && body["reason"] == nil)
        let plain = try TestRelay(stock)
        try await plain.relay.report(result, of: "evt")
        let request = try #require(await plain.transport.requests.first)
        #expect(request.url == "https://r/v1/reply/result" && request.body["sealed"] == nil)
        #expect(request.body["outcome"] == .string("refused") && request.body["reason"] == .string("changed"))
    }

    @Test("The history has the results of replies")
    func resultsInHistory() async throws {
        let key = SealedResult.Key(try #require(pairing.key))
        let result = SealedResult(outcome: .tooLate, ofReply: nil, sentAt: 7)
        let sealed = try result.sealed(for: "evt", with: key)
        let body = """
            {"ok":true,"unread":0,"items":[{"id":"a","eventID":"evt","result":{"sealed":"\(sealed)"}},
            {"id":"b","eventID":"evt2","result":{"sealed":"\(sealed)"}},{"id":"c","eventID":"evt"}]}
            """
        let items = try await TestRelay(pairing, [.init(body: body)]).relay.history().items
        #expect(items.map(\.result) == [.sealed(result), .refused(.notAuthentic), nil])
    }

    @Test("The history names events, to acknowledge them")
    func history() async throws {
        let body = """
            {"ok":true,"unread":1,"items":[{"id":"a","eventID":"evt","acknowledgedAt":"2026-11-21T12:47:37.123Z"},{"id":"b"}]}
            """
        let items = try await TestRelay(pairing, [.init(body: body)]).relay.history().items
        #expect(
            items.map(\.eventID) == ["evt", nil] && items.map { $0.acknowledgedAt != nil } == [true, false])
    }

    @Test("A registration says which fields the relay ignored")
    func ignored() async throws {
        let body = #"{"ok":true,"ignored":["preferences.quietHours.timeZone"]}"#
        let token = try #require(DeviceToken(hex: "aa01"))
        let outcome = try await TestRelay(pairing, [.init(body: body)]).relay.register(
            Registration(token: token))
        #expect(outcome == .registeredExcept(["preferences.quietHours.timeZone"]))
    }

    @Test("Codes of refusals are known by name, and every error has a sentence for people")
    func errors() async throws {
        let codes: [Rejection.Code: Int] = [
            .unknownEvent: 404, .alreadyReplied: 409, .unknownDevice: 409, .noDevices: 409,
            .scheduleLimit: 409,
        ]
        for (code, status) in codes {
            let body = #"{"ok":false,"error":"Sentence.","code":"\#(code.rawValue)"}"#
            let test = try TestRelay(pairing, [.init(status: status, body: body)])
            let error = await #expect(throws: RelayError.self) { try await test.relay.acknowledge("evt") }
            guard case .rejected(let rejection)? = error else {
                Issue.record("not rejected")
                continue
            }
            #expect(rejection.code == code && error?.localizedDescription == "Sentence.")
        }
        let errors: [any Error] = [
            RelayError.unreachable("x"), RelayError.timedOut, RelayError.cancelled, RelayError.noKey,
            RelayError.unexpectedAnswer(status: 502), RelayError.unsealable(.tooLarge),
            PairingFailure.missing("relayURL"), Refusal.stale, SealingFailure.invalid("id"),
        ]
        #expect(Set(errors.map(\.localizedDescription)).count == errors.count)
        #expect(errors.allSatisfy { $0.localizedDescription.hasSuffix(".") && $0 is any LocalizedError })
    }
}
