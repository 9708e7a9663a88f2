import JSON
import Network
import PushSealing
import Testing
import WebClient

@testable import AgentBridge

@Suite("Sealing events", .timeLimit(.minutes(2)))
struct SealerTests {
    private let secret = PairingSecret()

    private func event(
        _ title: String = "Fix auth bug", _ body: String = "Done.", session: String = "ses_1"
    ) throws -> QueuedEvent {
        QueuedEvent(
            id: "oc-1", at: 1_795_350_000_999, type: .complete, session: try #require(SessionID(session)),
            text: .readable(title: title, body: body))
    }

    private func envelope(_ event: QueuedEvent) throws -> String {
        guard case .sealed(let envelope) = event.text else { throw Refusal.malformed }
        return envelope
    }

    private func opened(_ event: QueuedEvent) throws -> SealedMessage {
        try Envelope.open(
            try envelope(event), type: event.type.rawValue, with: [secret.notificationKey])
    }

    @Test("the envelope contains the whole event, and the request nothing of it")
    func sealed() throws {
        let sealer = Sealer(secret, serverID: "srv", hidesSessions: false)
        let sealed = sealer.sealed(try event(), at: 1_795_350_007_999)
        let id = "oc-" + secret.privateSessionID(of: "oc-1")
        var message = SealedMessage(id: id, sentAt: 1_795_350_007, title: "Fix auth bug", body: "Done.")
        message.sessionID = "ses_1"
        message.serverID = "srv"
        #expect(try opened(sealed) == message)
        #expect(sealed.id == id && sealed.session.text == "ses_1" && sealed.at == 1_795_350_000_999)
        #expect(sealer.sealed(sealed, at: 0) == sealed, "it is sealed once")
        let relay = RelayClient(address: try WebAddress("https://r"), secret: secret.relaySecret)
        let body = try JSON.parse(relay.body(sealed), maxBytes: 1 << 16)
        #expect(
            body.object?.members.map(\.name) == [
                "secret", "serverID", "eventType", "sessionID", "sealed", "eventID",
            ])
        #expect(body["sealed"]?.string == (try envelope(sealed)))
    }

    @Test("the actions and the category of an event that can be answered are sealed with its text")
    func actions() throws {
        let sealer = Sealer(secret, serverID: "srv", hidesSessions: false)
        let relay = RelayClient(address: try WebAddress("https://r"), secret: secret.relaySecret)
        var event = try event()
        func body(_ event: QueuedEvent) throws -> JSON.Value {
            try JSON.parse(relay.body(event), maxBytes: 1 << 16)
        }
        #expect(try body(event)["actions"] == nil && body(event)["category"] == nil)
        event.actions = ReplyOffer.permission.names
        let names: JSON.Value = ["once", "always", "reject"]
        #expect(try body(event)["actions"] == names && body(event)["category"] == "permission")
        #expect(QueueRecord(line: QueueRecord.put(event).line.dropLast()) == .put(event))
        let sealed = sealer.sealed(event, at: 0)
        #expect(try body(sealed)["actions"] == names && body(sealed)["category"] == nil)
        let properties = try opened(sealed).properties
        #expect(properties.category == "permission" && properties.actions == ["once", "always", "reject"])
    }

    @Test("a state keeps only its status, even if it was queued before there was a sealer")
    func state() throws {
        let sealer = Sealer(secret, serverID: "srv", hidesSessions: false)
        var event = try event()
        event.state = ContentState(
            status: .working, title: "Fix auth bug", text: "Secret", retry: Retry(attempt: 1, message: "x"),
            tool: "bash", todos: TodoCount(done: 1, total: 2))
        let bare = ContentState(status: .working)
        let sealed = sealer.sealed(event, at: 0)
        #expect(sealed.state == bare)
        var queued = sealed
        queued.state = event.state
        #expect(sealer.sealed(queued, at: 0) == sealed)
    }

    @Test("a private session has a constant hash, and the envelope has the real ID")
    func privateSession() throws {
        let sealer = Sealer(secret, serverID: "srv", hidesSessions: true)
        let sealed = sealer.sealed(try event(), at: 0)
        #expect(sealed.session.text == secret.privateSessionID(of: "ses_1"))
        #expect(try opened(sealed).sessionID == "ses_1")
        #expect(sealer.sealed(try event("Other"), at: 9).session == sealed.session)
        #expect(sealer.sealed(try event(session: "ses_2"), at: 9).session != sealed.session)
    }

    @Test("long texts are shortened between characters until they fit")
    func shortened() throws {
        let sealer = Sealer(secret, serverID: "srv", hidesSessions: false)
        let escaped = String(repeating: "\\", count: 1_000)
        let sealed = sealer.sealed(try event(escaped, escaped), at: 0)
        #expect(try envelope(sealed).utf8.count <= Bounds.sealedCharactersMax)
        let message = try opened(sealed)
        #expect(message.title == String(repeating: "\\", count: 256) + "…" && message.title == message.body)
        let emoji = String(repeating: "👩‍💻", count: 90)
        let family = try opened(sealer.sealed(try event("T", emoji), at: 0))
        #expect(family.body == emoji)
        // Texts of the maximum length for an event fit uncut if they need no escapes.
        let whole = try opened(
            sealer.sealed(
                try event(String(repeating: "x", count: 200), String(repeating: "é", count: 140)), at: 0))
        #expect(whole.title?.count == 200 && whole.body?.count == 140)
    }

    @Test("a text that doesn't fit is replaced by the relay's default text")
    func general() throws {
        let sealer = Sealer(secret, serverID: "srv", hidesSessions: false)
        // JSON writes six characters for each of these.
        let noise = String(repeating: "\u{1}", count: 255)
        let sealed = sealer.sealed(try event(noise, noise, session: noise), at: 0)
        #expect(sealed.text == .general)
        let relay = RelayClient(address: try WebAddress("https://r"), secret: "s")
        let body = try JSON.parse(
            relay.body(sealed), maxBytes: 1 << 16)
        #expect(body["title"] == nil && body["body"] == nil && body["sealed"] == nil)
    }

    @Test("the check says who can read texts and which apps can't open them")
    func check() {
        let devices: JSON.Value = [
            ["device": "…1", "sealed": [1]], ["device": "…2"],
            ["device": "…3", "lastPush": ["status": "sent"]],
        ]
        let answer = WebAnswer(status: 200, body: (["devices": devices] as JSON.Value).encoded())
        let note = "its app can't open sealed texts"
        let sealing = CheckCommand.devices(answer, isSealing: true)
        #expect(sealing.allSatisfy { $0.isGood })
        #expect(sealing.map { $0.text.contains(note) } == [false, true, true])
        #expect(!CheckCommand.devices(answer, isSealing: false).contains { $0.text.contains(note) })
    }

    @Test("a request is sealed whole, or its beginning and end with nothing but a refusal")
    func requests() throws {
        let sealer = Sealer(secret, serverID: "srv", hidesSessions: false)
        func sealed(_ text: String, session: String = "s") throws -> (SealedMessage, ReplyOffer, QueuedEvent)
        {
            let request = AskedRequest(text: text, offer: .permission, digest: "d1d2")
            let result = try #require(
                sealer.sealed(try event(session: session), asking: request, end: 9_999, at: 1_000))
            return (try opened(result.event), result.offer, result.event)
        }
        let long = String(repeating: "x", count: 2_000)
        let (whole, offer, sent) = try sealed(long)
        #expect(whole.body == long && offer == .permission && whole.properties.actions == offer.names)
        // Without a category, because iOS would show the buttons under text that it has shortened.
        #expect(whole.properties.category == nil)
        #expect(whole.request?.end == 9 && whole.request?.isCut == false && sent.actions == offer.names)
        for text in [String(repeating: "é", count: 1_500), String(repeating: "\"", count: 9_000) + "end"] {
            let (cut, offer, sent) = try sealed(text)
            #expect(offer == ReplyOffer(actions: [.reject]) && cut.properties.actions == ["reject"])
            #expect(cut.request?.isCut == true && sent.actions == ["reject"])
            let body = try #require(cut.body)
            #expect(
                body.contains("of \(text.unicodeScalars.count) characters are missing")
                    && body.contains("d1d2"))
            #expect(body.hasPrefix(text.prefix(10)) && body.contains(text.suffix(3)))
        }
        // The longer identifiers leave less room in the push.
        #expect(try sealed(long, session: String(repeating: "s", count: 255)).0.request?.isCut == true)
    }
}
