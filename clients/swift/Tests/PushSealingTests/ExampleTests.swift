import PushSealing
import Testing

/// The examples from the module's documentation, line by line.
@Suite("Examples of PushSealing", .timeLimit(.minutes(1)))
struct ExampleTests {
    @Test("A phone scans the link of a sender")
    func pair() throws {
        let secret = PairingSecret()
        let pairing = try Pairing(
            relayURL: "https://relay.example.org", hosts: ["http://192.0.2.10:4096"], key: secret)
        let link = pairing.link()

        let scanned = try Pairing(parsing: link)

        #expect(scanned == pairing)
    }

    @Test("A phone opens what a sender sealed")
    func seal() throws {
        let secret = PairingSecret()
        let now = 1_795_350_000

        let message = SealedMessage(id: "evt_1", sentAt: now, title: "Done", body: "All tests pass.")
        let sealed = try Envelope.seal(message, type: "complete", with: secret.notificationKey)

        let opened = try Envelope.open(sealed, type: "complete", with: [secret.notificationKey])

        #expect(opened == message)
    }
}
