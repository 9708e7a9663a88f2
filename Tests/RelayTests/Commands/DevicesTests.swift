import Programs
import Storage
import Testing

@testable import Relay

@Suite("relay devices", .timeLimit(.minutes(2)))
struct DevicesTests {
    private static let key = RelayFixture.key

    @Test("Each device has a line with what it told and how its last push ended")
    func text() {
        let now: EpochMilliseconds = 1_800_000_000_000
        func device(_ id: String, _ token: String, _ details: DeviceDetails = .none) -> Device {
            Device(
                id: id, secretHash: Self.key.primary, token: token, bundleID: "com.example.app",
                environment: .production, createdAt: now, updatedAt: now + 60_000, details: details)
        }
        let details = DeviceDetails(deviceName: "Ada's\u{1B}[2J phone", deviceModel: "iPhone18,1")
        let list = DeviceList(
            devices: [device("1", String(repeating: "ab", count: 32), details), device("2", "00fc13adff")],
            last: [
                Delivery(
                    id: "d", secretHash: Self.key.primary, eventType: "complete", sessionID: "s",
                    status: .failed, error: "BadTopic", createdAt: now + 61_000, deviceID: "1")
            ])
        let text = DevicesCommand.text(list, of: Self.key, .plain)
        let lines = text.split(separator: "\n")
        #expect(lines.first == "Secret \(Self.key): 2 devices; times in UTC")
        #expect(lines[2].contains("…abababab") && lines[2].hasSuffix("2027-01-15 08:01:01  BadTopic"))
        #expect(lines[2].contains("Ada's\\u{1B}[2J phone"))
        #expect(lines[3].contains("…fc13adff") && lines[3].hasSuffix("-                    -"))
        #expect(!text.contains(String(repeating: "ab", count: 5)))
        var used = list
        (used.agent, used.now) = (AgentUse(usedAt: now, client: "agent\u{202E}"), now + 299_999)
        #expect(
            DevicesCommand.text(used, of: Self.key, .plain).split(separator: "\n")[1]
                == "Agent: agent\\u{202E}, last used 2027-01-15 08:00:00 (recent)")
        let none = DevicesCommand.text(DeviceList(devices: [], last: []), of: Self.key, .plain)
        #expect(none == "Secret \(Self.key): no devices\n")
    }
}
