import APNsSimulator
import JSON
import PushSealing
import Testing

@Suite("State of Web Push", .timeLimit(.minutes(2)))
struct WebPushStateTests {
    private var state = SimulatorState(SimulatorState.Start())
    private var push: WebPushFixture

    init() throws {
        push = try WebPushFixture(.apple)
        #expect(state.subscriptions.add(push.subscription) == true)
    }

    /// Decides about the push, with the subscription as it is now.
    private mutating func decide() throws -> SimulatorState.Decision {
        push.subscription = try #require(state.subscriptions[target: push.subscription.target])
        return state.decide(push.check(), by: push.vendor)
    }

    private mutating func answer() throws -> ScriptedAnswer? {
        if case .answer(let answer) = try decide().action { answer } else { nil }
    }

    private mutating func put(_ rule: JSON.Value) throws {
        let rule = try Rule(rule, id: "a", seed: 1, now: 0)
        #expect(state.put(rule) == true)
    }

    @Test("A subscription accepts only the sender of its first valid push, or the given one")
    mutating func senders() throws {
        push.set("TTL", nil)
        #expect(try answer()?.reason == "BadTtl")
        #expect(state.subscriptions.all.first?.senderKey == nil)
        push.set("TTL", "60")
        #expect(try answer()?.status == 201)
        #expect(state.subscriptions.all.first?.senderKey == push.sender.publicKey)
        #expect(try answer()?.status == 201)
        push.sender = WebPushFixture.Sender(scalar: 8)
        #expect(try answer()?.reason == "VapidPkHashMismatch")
    }

    @Test("A deleted subscription is gone, also when a rule lets its pushes pass")
    mutating func gone() throws {
        #expect(state.subscriptions.unsubscribe("other") == false)
        #expect(state.subscriptions.unsubscribe(push.subscription.id) == true)
        #expect(state.subscriptions.unsubscribe(push.subscription.id) == false)
        let refused = try decide()
        #expect(refused.action == .answer(ScriptedAnswer(status: 410, reason: "Unregistered")))
        #expect(refused.detail == "the subscription was deleted")
        try put(["latency": 5])
        #expect(try answer()?.status == 410)
        state.reset()
        #expect(state.subscriptions.all.isEmpty)
    }

    @Test("There is a limit of subscriptions, in which those that are gone count")
    func limit() throws {
        var registry = SubscriptionRegistry(max: 2)
        let made = try (0..<3).map { _ in try WebPushSubscription([:]) }
        #expect(registry.add(made[0]) == true && registry.add(made[1]) == true)
        #expect(registry.unsubscribe(nil) == true)
        #expect(registry.add(made[2]) == false)
        #expect(registry.all.map(\.id) == made.dropLast().map(\.id))
        #expect(registry.all.allSatisfy { $0.isGone })
    }

    @Test("Rules apply to valid pushes of their transport, vendor and subscription")
    mutating func rules() throws {
        try put([
            "match": ["vendor": "apple"], "status": 503, "reason": "Shutdown", "retryAfter": 9, "count": 1,
        ])
        #expect(try answer() == ScriptedAnswer(status: 503, reason: "Shutdown", retryAfter: 9))
        #expect(try answer()?.status == 201)
        let id = JSON.Value.string(push.subscription.id)
        let matches: [(JSON.Value, Bool)] = [
            ([:], true), (["transport": "webpush"], true), (["transport": "apns"], false),
            (["vendor": "google"], false), (["subscription": id], true), (["subscription": "x"], false),
            (["topic": "abcd"], false), (["token": "ab"], false), (["environment": "sandbox"], false),
            (["pushType": "alert"], false),
        ]
        for (match, applies) in matches {
            try put(["match": match, "action": "stall"])
            #expect(
                try decide().action == (applies ? .stall : .answer(ScriptedAnswer(status: 201, reason: nil))))
        }
        push.set("Urgency", "x")
        try put(["action": "stall"])
        #expect(try answer()?.reason == "BadUrgency")
    }

    @Test("Rules for Web Push leave APNs alone")
    mutating func otherTransport() throws {
        for match: JSON.Value in [["transport": "webpush"], ["vendor": "apple"], ["subscription": "x"]] {
            try put(["match": match, "action": "stall"])
            let action = state.decide(PushFixture().check(), id: nil, in: .production).action
            #expect(action == .answer(.accepted))
        }
        try put(["match": ["transport": "apns"], "action": "stall"])
        #expect(state.decide(PushFixture().check(), id: nil, in: .production).action == .stall)
    }

    @Test("Web Pushes are counted apart, with those that can't be read")
    mutating func statistics() throws {
        state.seal(push.recorded(), hasClientID: false)
        push.body[0] ^= 1
        state.seal(push.recorded(), hasClientID: false)
        state.seal(push.recorded(.answered(status: 410, reason: "Unregistered")), hasClientID: false)
        state.seal(push.recorded(.stalled), hasClientID: false)
        let json = state.statisticsJSON
        #expect(json["production"]?["pushes"] == 0)
        let counts = try #require(json["webpush"])
        #expect(counts["pushes"] == 4 && counts["accepted"] == 2 && counts["undecryptable"] == 1)
        #expect(counts["reasons"] == ["Unregistered": 1] && counts["stalled"] == 1)
        state.reset()
        #expect(state.statisticsJSON["webpush"]?["pushes"] == 0)
    }
}

@Suite("Recorded Web Pushes", .timeLimit(.minutes(2)))
struct WebPushRecordTests {
    private static let declarative =
        #"{"web_push":8030,"notification":{"title":"Fix auth bug","body":"Done.\u001b","data":"#

    private func push(_ text: String) throws -> WebPushFixture {
        var push = try WebPushFixture()
        push.body = try WebPushFixture.encrypted(text)
        return push
    }

    @Test("The card shows a declarative message's notification and its data")
    func card() throws {
        let record = try push(Self.declarative + #"{"eventType":"complete"}}}"#).recorded(at: 50_587_512)
        let card = PushCard.text(record, utcOffset: 0)
        let id = try #require(record.webPush?.subscription).suffix(8)
        #expect(
            card == """
                ┌ 14:03:07.512  webpush  mozilla  localhost:8445  …\(id)  ttl 60  urgency high  topic abcd
                │ Fix auth bug
                │ Done.\\u{1B}
                │ eventType complete
                └ 201 accepted

                """)
    }

    @Test("A sealed text is shown and opened as with APNs")
    func sealed() throws {
        let secret = PairingSecret()
        let message = SealedMessage(id: "evt_1", sentAt: 0, title: "Secret", body: "Text")
        let sealed = try Envelope.seal(message, type: "error", with: secret.notificationKey)
        let record = try push(Self.declarative + #"{"eventType":"error","sealed":"\#(sealed)"}}}"#).recorded()
        let keys = [secret.notificationKey]
        #expect(PushCard.text(record, utcOffset: 0).contains("│ sealed under key \(keys[0].id): "))
        #expect(PushCard.text(record, utcOffset: 0, keys: keys).contains("opened:\n│   Secret\n│   Text\n"))
        #expect(record.json(keys: keys)["opened"]?["title"] == "Secret")
    }

    @Test("The record has the headers without the token, and the decrypted payload")
    func json() throws {
        let json = try push(#"{"a":1}"#).recorded().json
        #expect(json["transport"] == "webpush" && json["vendor"] == "mozilla")
        #expect(json["host"] == "localhost:8445" && json["ttl"] == 60 && json["urgency"] == "high")
        #expect(json["topic"] == "abcd" && json["payload"] == ["a": 1] && json["bodyBytes"] == 110)
        #expect(json["headers"]?["content-encoding"] == "aes128gcm")
        #expect(json["headers"]?["authorization"] == nil && json["undecryptable"] == nil)
        #expect(try WebPushFixture().recorded().json["payloadText"] == .string(WebPushFixture.text))
    }

    @Test("A message that the browser can't read is recorded as such")
    func undecryptable() throws {
        var push = try WebPushFixture()
        push.body[0] ^= 1
        #expect(push.fault == nil)
        let record = push.recorded()
        #expect(record.json["undecryptable"] == .string(Undecryptable.notAuthentic.rawValue))
        #expect(record.json["payload"] == nil && record.json["payloadText"] == nil)
        let card = PushCard.text(record, utcOffset: 0)
        #expect(card.contains("(144 bytes, not decryptable: it was encrypted for other keys, or damaged)"))
        #expect(card.hasSuffix("└ 201 accepted\n"))
    }
}
