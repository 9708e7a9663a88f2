import Testing

@testable import PushSealing

@Suite(.timeLimit(.minutes(1)))
struct EnvelopeTests {
    private let secret = PairingSecret()

    private var message: SealedMessage {
        var message = SealedMessage(
            id: "evt_1", sentAt: 1_795_350_000, title: "Fix auth bug", body: "Grüße 👩‍💻\n\"\\\u{1}")
        message.sessionID = "ses_1"
        message.serverID = "9f2c"
        message.timeToLive = 60
        message.properties.category = "PERMISSION"
        message.properties.badge = 3
        return message
    }

    @Test("What is sealed opens as it was, with the right one of several keys")
    func roundTrip() throws {
        let keys = [PairingSecret().notificationKey, secret.notificationKey]
        let sealed = try Envelope.seal(message, type: "complete", with: secret.notificationKey)
        #expect(sealed.utf8.count == 386)
        let (opened, key) = try Envelope.openNamingKey(sealed, type: "complete", with: keys)
        #expect(opened == message && key == secret.notificationKey)
        #expect(try Envelope.seal(message, type: "complete", with: secret.notificationKey) != sealed)
    }

    @Test("Of two keys with the same name, the one that fits opens an envelope")
    func sameName() throws {
        let key = secret.notificationKey
        let other = try #require(NotificationKey(id: key.id, bytes: [UInt8](repeating: 7, count: 32)))
        let sealed = try Envelope.seal(message, type: "error", with: key)
        #expect(try Envelope.open(sealed, type: "error", with: [other, key]) == message)
        #expect(throws: Refusal.notAuthentic) { try Envelope.open(sealed, type: "error", with: [other]) }
    }

    @Test("A change of any byte, or of any character, is refused")
    func tampering() throws {
        let key = secret.notificationKey
        let sealed = try Envelope.seal(message, type: "complete", with: key)
        let bytes = try #require(Base64URL.decode(sealed))
        for index in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[index] ^= 1 << UInt8(bit)
                #expect(throws: Refusal.self, "byte \(index), bit \(bit)") {
                    try Envelope.open(Base64URL.encode(changed), type: "complete", with: [key])
                }
            }
        }
        var characters = Array(sealed.utf8)
        for index in characters.indices {
            let was = characters[index]
            characters[index] = was == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(throws: Refusal.self, "character \(index)") {
                try Envelope.open(
                    String(decoding: characters, as: UTF8.self), type: "complete", with: [key])
            }
            characters[index] = was
        }
        for type in ["complet", "completed", "error", ""] {
            #expect(throws: Refusal.notAuthentic) { try Envelope.open(sealed, type: type, with: [key]) }
        }
    }

    @Test("Texts of different lengths give envelopes of few lengths, and too long ones none")
    func sizes() throws {
        let key = secret.notificationKey
        var lengths: Set<Int> = []
        for count in stride(from: 1, to: 2500, by: 13) {
            let message = SealedMessage(id: "1", sentAt: 0, body: String(repeating: "x", count: count))
            lengths.insert(try Envelope.seal(message, type: "notify", with: key).utf8.count)
        }
        #expect(lengths.sorted() == [386, 727, 1068, 1410, 1751, 2092, 2434, 2775, 3116, 3458])
        let long = SealedMessage(id: "1", sentAt: 0, body: String(repeating: "x", count: 2540))
        #expect(throws: SealingFailure.tooLarge) { try Envelope.seal(long, type: "notify", with: key) }
    }

    @Test("A message without ID or text, or with a time out of range, isn't sealed")
    func invalid() {
        let key = secret.notificationKey
        var wrong: [(SealedMessage, String)] = [
            (SealedMessage(id: "", sentAt: 0, body: "b"), "id"),
            (SealedMessage(id: String(repeating: "i", count: 129), sentAt: 0, body: "b"), "id"),
            (SealedMessage(id: "1", sentAt: -1, body: "b"), "sentAt"),
            (SealedMessage(id: "1", sentAt: 0, title: "", body: ""), "title"),
        ]
        var late = SealedMessage(id: "1", sentAt: 0, title: "t")
        late.timeToLive = 2_592_001
        wrong.append((late, "timeToLive"))
        for (message, name) in wrong {
            #expect(throws: SealingFailure.invalid(name)) { try Envelope.seal(message, type: "x", with: key) }
        }
    }

    @Test("Nothing that describes values shows a secret")
    func secrecy() throws {
        let pairing = try Pairing(relayURL: "https://relay.example", hosts: ["http://h"], key: secret)
        for value in [secret, secret.notificationKey, pairing] as [Any] {
            var text = "\(value) \(String(reflecting: value)) \(Optional(value) as Any)"
            dump(value, to: &text)
            for hidden in [secret.base64URL, secret.relaySecret, "\(secret.bytes[0]), \(secret.bytes[1])"] {
                #expect(!text.contains(hidden), "\(text)")
            }
        }
    }
}
