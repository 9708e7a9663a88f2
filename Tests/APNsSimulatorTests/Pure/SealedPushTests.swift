import APNsSimulator
import JSON
import PushSealing
import Testing

@Suite("Sealed pushes", .timeLimit(.minutes(2)))
struct SealedPushTests {
    private let secret = PairingSecret()

    private func record(_ message: SealedMessage, type: String, visible: String) throws -> PushRecord {
        let sealed = try Envelope.seal(message, type: type, with: secret.notificationKey)
        var push = PushFixture()
        push.payload = #"{"aps":{"alert":"Visible"},"sealed":"\#(sealed)",\#(visible)}"#
        return PushRecord(
            receivedAt: 0, push: push.recorded(), id: MessageID(high: 0, low: 0), detail: nil, rule: nil,
            outcome: .answered(status: 200, reason: nil))
    }

    private var message: SealedMessage {
        var message = SealedMessage(id: "evt_1", sentAt: 0, title: "Fix auth bug", body: "Done.\n\u{1B}[2J")
        message.sessionID = "ses_1"
        return message
    }

    @Test("Without its key a sealed push is shown as sealed, without the long text")
    func sealed() throws {
        let record = try record(message, type: "error", visible: #""eventType":"error""#)
        let card = PushCard.text(record, utcOffset: 0)
        #expect(card.contains("│ Visible\n│ eventType error\n"))
        #expect(card.contains("│ sealed under key \(secret.notificationKey.id): 386 characters\n"))
        #expect(record.json["opened"] == nil)
        let other = [PairingSecret().notificationKey]
        #expect(PushCard.text(record, utcOffset: 0, keys: other) == card)
        #expect(record.json(keys: other)["opened"] == ["refused": "unknownKey"])
    }

    @Test("With its key the text is shown, and can't control the terminal", arguments: ["eventType", "kind"])
    func opened(member: String) throws {
        let record = try record(message, type: "error", visible: "\"\(member)\":\"error\"")
        let keys = [PairingSecret().notificationKey, secret.notificationKey]
        let card = PushCard.text(record, utcOffset: 0, keys: keys)
        #expect(
            card.contains(
                """
                │ sealed under key \(secret.notificationKey.id), opened:
                │   Fix auth bug
                │   Done.
                │   \\u{1B}[2J
                │   sessionID ses_1, id evt_1
                """))
        let opened = record.json(keys: keys)["opened"]
        #expect(opened?["title"] == "Fix auth bug" && opened?["sessionID"] == "ses_1")
    }

    @Test("A push that a phone would refuse is shown with the reason")
    func refused() throws {
        let record = try record(message, type: "error", visible: #""eventType":"complete""#)
        let card = PushCard.text(record, utcOffset: 0, keys: [secret.notificationKey])
        #expect(
            card.contains("sealed under key \(secret.notificationKey.id), can't be opened: notAuthentic\n"))
        #expect(!card.contains("Fix auth bug"))
    }
}
