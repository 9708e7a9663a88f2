import ChildProcess
import Foundation
import JSON
import Network
import Programs
import Testing
import WebClient

@testable import AgentBridge

@Suite("Settings and commands", .timeLimit(.minutes(2)))
struct SettingTests {
    private func configuration(
        _ arguments: [String] = [], _ environment: [String: String] = [:], file: String? = nil
    ) throws -> Configuration {
        let environment = environment.merging(["HOME": "/home/ada"]) { mine, _ in mine }
        guard case .run(_, let flags, _) = try BridgeCommand.table.parse(arguments) else {
            throw UsageError("no command")
        }
        return try Configuration(
            .bridge(flags: flags, environment) { _ in
                file.map { .success(Array($0.utf8)) } ?? .failure(FileError("none", isMissing: true))
            })
    }

    @Test("flags take precedence over variables, variables over the file")
    func order() throws {
        let file = """
            # the relay of the house
            BRIDGE_RELAY_URL = ignored
            """
        #expect(throws: ConfigurationError.self) { try configuration(file: file) }
        let settings = "BRIDGE_RELAY_URL=https://file\nBRIDGE_SHOW_COMMANDS='on'\n\n# comment\n"
        #expect(try configuration(file: settings).relay?.text == "https://file")
        #expect(try configuration(file: settings).options.showsCommands)
        let variables = ["BRIDGE_RELAY_URL": "https://variable", "BRIDGE_REQUEST_WAIT": "7"]
        #expect(try configuration([], variables, file: settings).relay?.text == "https://variable")
        #expect(try configuration([], variables).options.requestWait == .seconds(7))
        let times = ["--stream-timeout", "20", "--quiet-while-active", "5"]
        #expect(try configuration(times).streamSilenceMax == .seconds(20))
        #expect(try configuration(times).quiet.time == .seconds(300))
        #expect(try configuration().quiet.time == .zero)
        #expect(try configuration(["--live-activities", "15"]).activityInterval == .seconds(15))
        #expect(try configuration().activityInterval == .zero)
        let flags = ["serve", "--relay-url", "https://flag", "--show-commands=off"]
        #expect(try configuration(flags, variables, file: settings).relay?.text == "https://flag")
        #expect(try !configuration(flags, variables, file: settings).options.showsCommands)
        #expect(try configuration().stateDirectory == "/home/ada/.local/state/agent-bridge")
        #expect(
            try configuration([], ["XDG_STATE_HOME": "/var/x"]).stateDirectory == "/var/x/agent-bridge")
    }

    @Test("the directories of the bridge's former name are used if only they exist")
    func formerName() throws {
        let home = try makeTemporaryDirectory()
        let environment = ["HOME": home]
        for (directory, name) in [
            ("opencode-bridge", "opencode-bridge"), ("agent-bridge", "agent-bridge"),
        ] {
            for parent in [".config", ".local/state"] {
                try FileManager.default.createDirectory(
                    atPath: "\(home)/\(parent)/\(directory)", withIntermediateDirectories: true)
            }
            #expect(StateDirectory.standard(environment) == "\(home)/.local/state/\(name)")
            #expect(SettingSources.standardFile(environment) == "\(home)/.config/\(name)/config")
        }
    }

    @Test("a relay elsewhere needs HTTPS")
    func security() throws {
        #expect(try configuration(["--relay-url", "http://127.0.0.1:8787"]).relay != nil)
        #expect(throws: ConfigurationError.self) {
            try configuration(["--relay-url", "http://relay.example.org"])
        }
        #expect(
            try configuration(["--relay-url", "http://relay.example.org", "--insecure-relay"]).relay != nil)
    }

    @Test("every problem is reported at once")
    func problems() throws {
        let given = [
            "BRIDGE_RELAY_URL": "ftp://x", "BRIDGE_OPENCODE_URL": "http://u:p@h", "BRIDGE_DEBUG": "maybe",
            "BRIDGE_REQUEST_WAIT": "-1", "BRIDGE_STREAM_TIMEOUT": "0", "BRIDGE_QUIET_WHILE_ACTIVE": "soon",
            "BRIDGE_LIVE_ACTIVITIES": "601",
        ]
        let error = #expect(throws: ConfigurationError.self) { try configuration([], given) }
        #expect(error?.problems.count == 7)
        #expect(error?.problems.contains { $0.contains("u:p") } == false)
        let unknown = #expect(throws: ConfigurationError.self) {
            try configuration([], ["BRIDGE_RELAY": "x"])
        }
        #expect(unknown?.problems.first?.hasPrefix("BRIDGE_RELAY is not a setting of this program") == true)
        let other = #expect(throws: ConfigurationError.self) {
            try configuration(file: "RELAY_URL=https://r")
        }
        #expect(
            other?.problems == [
                "RELAY_URL in /home/ada/.config/agent-bridge/config is not a setting of this program"
            ])
    }

    @Test(
        "command lines",
        arguments: [["--relay"], ["ring"], ["test", "now"], ["--debug", "--debug"], ["--config"]])
    func refused(arguments: [String]) {
        #expect(throws: UsageError.self) { try BridgeCommand.table.parse(arguments) }
    }

    @Test("docs/guide/opencode.md describes every setting")
    func page() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(
            contentsOf: root.appendingPathComponent("docs/guide/opencode.md"), encoding: .utf8)
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `--") }.map {
            $0.split(separator: "|").prefix(2).map { $0.trimmingCharacters(in: [" ", "`"]) }
        }
        #expect(
            rows
                == Settings.table.filter { $0 != Settings.pairing.row }.map { row in
                    [row.flag + (row.negativeFlag.map { "`, `\($0)" } ?? ""), row.name]
                })
    }

    @Test("sealing is on, off or determined by the secret; addresses are checked")
    func sealing() throws {
        #expect(try configuration().seals == nil)
        #expect(try configuration(["--seal"]).seals == true)
        #expect(try configuration(["--no-seal"], ["BRIDGE_SEAL": "on"]).seals == false)
        #expect(try configuration([], ["BRIDGE_SEAL": "off"]).seals == false)
        #expect(throws: UsageError.self) { try configuration(["--seal", "--no-seal"]) }
        let hosts = ["--advertise-host", "box,10.0.0.1:99", "--advertise-host=https://x.example"]
        #expect(try configuration(hosts).advertisedHosts == ["box", "10.0.0.1:99", "https://x.example"])
        #expect(throws: ConfigurationError.self) { try configuration(["--advertise-host", "ftp://x"]) }
    }

    @Test("the command pair has its own options")
    func pairing() throws {
        let line = [
            "pair", "--app", "--json", "--local", "--rotate", "--png", "p", "--scheme", "my-app", "--seal",
        ]
        guard case .run("pair", let flags, let options) = try BridgeCommand.table.parse(line) else {
            Issue.record("another command")
            return
        }
        #expect(
            flags == ["BRIDGE_SEAL": "on"] && options.text(.png) == "p" && options.text(.scheme) == "my-app")
        for option in [CommandOption.app, .json, .local, .rotate] { #expect(options.has(option)) }
        let scheme =
            "--scheme is \"My App\": expected a URL scheme: lower-case letters, digits, '+', '-' and '.', beginning with "
            + "a letter"
        for (arguments, problem) in [
            (["serve", "--json"], "unknown flag --json"), (["pair", "--png"], "--png needs a value"),
            (["pair", "--scheme", "My App"], scheme), (["pair", "now"], "\"now\" is an unexpected argument"),
            (["pair", "--name", "a", "--name", "b"], "--name is given twice"),
            (["open", "--kind", "a b"], "--kind is \"a b\": expected 1 to 32 characters of a-z 0-9 _ -"),
            (["open", "one", "two"], "\"two\" is an unexpected argument"),
            (["seal", "--pairing", "{}"], Settings.pairing.row.flagRefusal ?? ""),
        ] {
            #expect(throws: UsageError(problem)) { try BridgeCommand.table.parse(arguments) }
        }
    }

    @Test("the relay's answers are understood")
    func answers() {
        func answer(_ status: Int, _ body: JSON.Value) -> RelayClient.Answer {
            RelayClient.interpret(WebAnswer(status: status, body: body.encoded()))
        }
        let deliveries: JSON.Value = [
            ["status": "sent"], ["status": "sent"], ["status": "failed", "reason": "Unregistered"],
        ]
        #expect(
            answer(200, ["ok": true, "sent": 2, "failed": 1, "deliveries": deliveries])
                == .accepted("sent 2, failed 1: Unregistered"))
        guard case .accepted(let nobody) = answer(200, ["ok": true, "sent": 0, "failed": 0]) else {
            Issue.record("not accepted")
            return
        }
        #expect(nobody.contains("no device is registered"))
        #expect(answer(409, ["ok": false, "code": "event_conflict"]) == .accepted("sent before"))
        #expect(
            answer(400, ["ok": false, "code": "invalid_field", "error": "x"]) == .refused("status 400: x"))
        for status in [404, 429, 500, 503] {
            guard case .later = answer(status, [:]) else {
                Issue.record("status \(status) is final")
                continue
            }
        }
        guard case .later = answer(200, "a web page") else {
            Issue.record("a web page is no relay")
            return
        }
    }
}
