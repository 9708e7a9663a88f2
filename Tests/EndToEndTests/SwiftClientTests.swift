import ChildProcess
import Foundation
import JSON
import Network
import PushSealing
import RelayClient
import Testing

/// The client library for Swift with a real relay and a simulated APNs.
@Suite("The Swift client", .timeLimit(.minutes(2)))
struct SwiftClientTests {
    private static let engines = ["sqlite"] + (ServerUnderTest.areThere ? ["postgres", "mariadb"] : [])

    /// An app's stored data; each test has its own.
    private final class Memory: TokenStore, @unchecked Sendable {
        private let lock = NSLock()
        private var tokens: [KeptToken] = []

        func load() -> [KeptToken] { lock.withLock { tokens } }

        func save(_ tokens: [KeptToken]) { lock.withLock { self.tokens = tokens } }
    }

    /// A pairing with the stack's relay, as a phone reads it from the link.
    private func pair(_ stack: Stack) throws -> Pairing {
        let url = "http://127.0.0.1:\(stack.http.endpoint.port)"
        let made = try Pairing(relayURL: url, hosts: [url], serverID: "9f2c")
        return try Pairing(parsing: made.link())
    }

    private func registration(_ number: Int) throws -> Registration {
        var registration = Registration(token: try #require(DeviceToken(hex: token(number).uppercased())))
        registration.bundleID = Stack.bundleID
        registration.deviceID = "installation-1"
        registration.deviceName = "Ada's phone"
        return registration
    }

    private func reader(_ pairing: Pairing, _ directory: TemporaryDirectory) throws -> PushReader {
        let key = try #require(pairing.key?.notificationKey)
        let folder = URL(fileURLWithPath: directory.file("")).standardizedFileURL
        return PushReader(keys: [key], replays: ReplayFiles(folder: folder))
    }

    private func payload(_ push: JSON.Value?) throws -> PushPayload {
        let json = try #require(push?["payload"])
        return try #require(PushPayload(json: json.encoded()))
    }

    @Test("A sealed event goes from pairing to phone, and only the phone can read it", arguments: engines)
    func chain(engine: String) async throws {
        let directory = try TemporaryDirectory()
        let database = try CopyPlace(engine, in: directory, "chain.db")
        let settings = ["DATABASE_URL": database.url, "RELAY_HISTORY_DAYS": "7"]
        try await Stack.run(settings) { stack in
            let pairing = try pair(stack)
            let relay = try #require(Relay(pairing))
            let keeper = TokenKeeper(store: Memory())
            #expect(await keeper.update(try registration(1), for: [pairing]) == [.success(.registered)])
            // The app gets a new token.
            #expect(await keeper.update(try registration(2), for: [pairing]) == [.success(.registered)])
            let devices = try await relay.devices()
            #expect(devices.map(\.device) == ["…" + token(2).suffix(8)])
            #expect(devices.first?.opensSealed == [1] && devices.first?.deviceName == "Ada's phone")

            let now = Int(Date.now.timeIntervalSince1970)
            var message = SealedMessage(id: "evt_1", sentAt: now, title: "Fix auth bug", body: "Grüße 👩‍💻")
            message.sessionID = "ses_1"
            let visible = try #require(pairing.key).privateSessionID(of: "ses_1")
            let result = try await relay.send(message, eventType: "complete", sessionID: visible)
            #expect(result.sent == 1)
            let test = try await relay.sendTestPush(to: try registration(2).token)
            #expect(test.sent == 1)

            let pushes = try await stack.control.pushes(token: token(2))
            #expect(pushes.count == 2)
            let text = String(decoding: JSON.Value.array(pushes).encoded(), as: UTF8.self)
            #expect(!text.contains("Fix auth bug") && !text.contains("ses_1") && text.contains(visible))
            #expect(pushes.first?["payload"]?["aps"]?["mutable-content"] == 1)
            #expect(pushes.first?["payload"]?["aps"]?["alert"]?["title"] == "Session complete")
            let reader = try reader(pairing, directory)
            let event = try payload(pushes.first)
            let key = try #require(pairing.key?.notificationKey)
            #expect(reader.read(event) == .opened(message, with: key))
            #expect(reader.read(event) == .refused(.repeated))
            guard case .opened(let opened, _) = reader.read(try payload(pushes.last)) else {
                Issue.record("the test push does not open")
                return
            }
            #expect(opened.title == "Test notification" && opened.serverID == "9f2c")

            let page = try await relay.history()
            #expect(page.unread == 2 && page.items.map(\.eventType) == ["notify", "complete"])
            #expect(page.items.allSatisfy { $0.title == nil && $0.createdAt != nil })
            #expect(page.items.last?.eventID == "evt_1" && page.items.last?.acknowledgedAt == nil)
            let first = try #require(page.items.last?.sealed)
            #expect(try Envelope.open(first, type: "complete", with: [key]) == message)
            let newest = try #require(page.items.first?.id)
            #expect(try await relay.markRead([newest]) == 1)
            #expect(try await relay.markRead() == 0)

            try await keeper.forget(pairing)
            #expect(try await relay.devices().isEmpty)
        }
    }

    @Test("The simulator opens what a sender sealed, given the pairing that agent-bridge pair made")
    func simulator() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("pairing.json")
        let command = try Program(
            "agent-bridge",
            ["pair", "--standalone", "--relay-url", "http://127.0.0.1:1", "--json", "--local"])
        #expect(try await command.ended() == 0)
        try Data(command.output.utf8).write(to: URL(fileURLWithPath: file))
        try await Stack.run(simulator: ["--pairing-file", file]) { stack in
            // The relay's port is only known now; the secret stays the same.
            let key = try #require(try Pairing(parsing: command.output).key)
            let url = "http://127.0.0.1:\(stack.http.endpoint.port)"
            let relay = try #require(Relay(try Pairing(relayURL: url, hosts: [url], key: key)))
            #expect(try await relay.register(try registration(1)) == .registered)
            let message = SealedMessage(id: "evt_1", sentAt: 0, title: "Fix auth bug", body: "Done.")
            #expect(try await relay.send(message, eventType: "complete", sessionID: "s").sent == 1)
            let push = try #require(try await stack.control.pushes().first)
            #expect(push["opened"]?["title"] == "Fix auth bug" && push["opened"]?["id"] == "evt_1")
            #expect(push["payload"]?["aps"]?["alert"]?["title"] == "Session complete")
        }
        let wrong = try Program("apns-simulator", ["--pairing-file", "/dev/null"])
        #expect(try await wrong.ended() == 66 && wrong.output.contains("is not a pairing with a key"))
    }

    @Test("Preferences set by the client mute what they exclude")
    func preferences() async throws {
        try await Stack.run { stack in
            let pairing = try pair(stack)
            let relay = try #require(Relay(pairing))
            var preferences = Preferences()
            preferences.eventTypes = ["error"]
            #expect(try await relay.setPreferences(preferences, of: try registration(1)) == .registered)
            #expect(try await relay.devices().first?.preferences == preferences)
            let message = SealedMessage(id: "evt_1", sentAt: 0, body: "Done.")
            #expect(try await relay.send(message, eventType: "complete", sessionID: "s").muted == 1)
        }
    }

    @Test("Refusals and an unreachable relay are distinct errors")
    func failures() async throws {
        // Port 1 belongs to a service that nobody runs.
        let nowhere = try Pairing(relayURL: "http://127.0.0.1:1", hosts: ["h"])
        let gone = try #require(Relay(nowhere, policy: .never))
        await #expect { try await gone.devices() } throws: { error in
            if case .unreachable? = error as? RelayError { true } else { false }
        }
        try await Stack.run { stack in
            let pairing = try pair(stack)
            let relay = try #require(Relay(pairing))
            var wrong = try registration(1)
            wrong.deviceID = "not printable: \u{1}"
            await #expect { try await relay.register(wrong) } throws: { error in
                guard case .rejected(let rejection)? = error as? RelayError else { return false }
                return rejection.code == .invalidField && rejection.field == "deviceID"
            }
            await #expect { try await relay.history() } throws: { error in
                guard case .rejected(let rejection)? = error as? RelayError else { return false }
                return rejection.code == .historyOff
            }
        }
    }
}
