import Storage
import Testing

@testable import Relay

@Suite("docs/COMMANDS.md")
struct CommandDocumentTests {
    @Test("It shows what the commands print")
    func examples() throws {
        var text = Documents.read("COMMANDS.md")
        for (name, command, output) in CommandExamples.all {
            let lines = "$ relay \(command)\n\(output)".split(
                separator: "\n", omittingEmptySubsequences: false)
            let indented = lines.map { $0.isEmpty ? "" : "    \($0)" }.joined(separator: "\n")
            text = try #require(
                Documents.replacing(name, in: text, with: "\n\(indented)\n"), "no place for \(name)")
        }
        if Documents.isUpdating { Documents.write("COMMANDS.md", text) }
        #expect(
            Documents.read("COMMANDS.md") == text,
            "UPDATE_DOCS=1 swift test --filter DocumentTests writes it anew")
    }

    @Test("It names every command that shows something to people")
    func commands() {
        let text = Documents.read("COMMANDS.md")
        for user in [SettingUser].inspecting { #expect(text.contains("## relay \(user.rawValue)\n")) }
    }
}

/// What stands in docs/COMMANDS.md: commands' own output for a day that was made up.
private enum CommandExamples {
    static var all: [(name: String, command: String, output: String)] {
        [
            (
                "devices", "devices",
                DevicesCommand.text(DeviceList(devices: devices, last: last), of: key, .plain)
            )
        ]
    }

    private static let key = SecretHasher().key(of: Secret("Kx3s0Q9-secret-of-yours"))
    private static let now: EpochMilliseconds = 1_795_265_257_123

    private static let devices = [
        device("1", "a1b2c3d4e5f6a7b8c9d0e1f2", .production, "Ada's phone", "iPhone18,1"),
        device("2", "00ff00ff00ff00ff0badcafe", .sandbox, "Ada's iPad", "iPad16,3"),
    ]

    private static let last = [
        delivery("1", .sent, nil, now - 25_000), delivery("2", .failed, "TooManyRequests", now - 3_600_000),
    ]

    private static func device(
        _ id: String, _ token: String, _ environment: DeviceEnvironment, _ name: String, _ model: String
    ) -> Device {
        Device(
            id: id, secretHash: key.primary, token: token, bundleID: "com.example.app",
            environment: environment, createdAt: now - 5_000_000_000, updatedAt: now - 86_000_000,
            details: DeviceDetails(deviceName: name, deviceModel: model))
    }

    private static func delivery(
        _ device: String, _ status: DeliveryStatus, _ error: String?, _ time: EpochMilliseconds
    ) -> Delivery {
        Delivery(
            id: "01a1fe7c-\(device)", secretHash: key.primary, eventType: "complete",
            sessionID: "ses_1", status: status, error: error, createdAt: time, deviceID: device)
    }
}
