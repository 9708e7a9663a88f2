import PushSealing
import RelayClient
import Testing

/// The example from the module's documentation, line by line.
@Suite("Example of RelayClient", .timeLimit(.minutes(1)))
struct ExampleTests {
    @Test("A phone registers and sends itself a notification")
    func register() async throws {
        let answers = [FakeTransport.Answer(), FakeTransport.Answer(body: #"{"ok":true,"sent":1}"#)]
        let pairing = try Pairing(relayURL: "https://relay.example.org", hosts: ["h"])
        let relay = try #require(Relay(pairing, transport: FakeTransport(answers)))
        let token = try #require(DeviceToken(hex: "00fc13ad"))

        var registration = Registration(token: token)
        registration.bundleID = "com.example.app"
        registration.environment = .sandbox
        let outcome = try await relay.register(registration)
        if case .challenged = outcome {
            // The relay sends a push with a code: register again with it as `challengeCode`.
        }
        let result = try await relay.notify(VisibleNotification(title: "Hello"), to: token)

        #expect(outcome == .registered)
        #expect(result.sent == 1)
    }
}
