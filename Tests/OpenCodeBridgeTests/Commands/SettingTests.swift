import Foundation
import JSON
import Network
import Testing
import WebClient

@testable import OpenCodeBridge

@Suite("Settings and commands", .timeLimit(.minutes(2)))
struct SettingTests {
    private func configuration(
        _ arguments: [String] = [], _ environment: [String: String] = [:], file: String? = nil
    ) throws -> Configuration {
        let environment = environment.merging(["HOME": "/home/ada"]) { mine, _ in mine }
        let values = try SettingValues(
            flags: try Invocation(arguments).flags, environment: environment
        ) { (_, _) throws(SettingProblems) in
            file.map { Array($0.utf8) }
        }
        return try Configuration(values, environment)
    }

    @Test("flags take precedence over variables, variables over the file")
    func order() throws {
        let file = """
            # the relay of the house
            BRIDGE_RELAY_URL = ignored
            """
        #expect(throws: SettingProblems.self) { try configuration(file: file) }
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
        #expect(try configuration().stateDirectory == "/home/ada/.local/state/opencode-bridge")
        #expect(
            try configuration([], ["XDG_STATE_HOME": "/var/x"]).stateDirectory == "/var/x/opencode-bridge")
    }

    @Test("a relay elsewhere needs HTTPS")
    func security() throws {
        #expect(try configuration(["--relay-url", "http://127.0.0.1:8787"]).relay != nil)
        #expect(throws: SettingProblems.self) {
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
        let error = #expect(throws: SettingProblems.self) { try configuration([], given) }
        #expect(error?.sentences.count == 7)
        #expect(error?.sentences.contains { $0.contains("u:p") } == false)
        let unknown = #expect(throws: SettingProblems.self) { try configuration([], ["BRIDGE_RELAY": "x"]) }
        #expect(unknown?.sentences == ["BRIDGE_RELAY is not a setting of this program"])
    }

    @Test(
        "command lines",
        arguments: [["--relay"], ["ring"], ["test", "now"], ["--debug", "--debug"], ["--config"]])
    func refused(arguments: [String]) {
        #expect(throws: Invocation.Problem.self) { try Invocation(arguments) }
    }

    @Test("the help names every command and setting")
    func help() {
        for command in Command.allCases { #expect(HelpText.text.contains("  " + command.rawValue)) }
        for setting in Setting.allCases {
            #expect(HelpText.text.contains(setting.flag) && HelpText.text.contains(setting.variable))
        }
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
                == Setting.allCases.map { setting in
                    [setting.flag + (setting.negativeFlag.map { "`, `\($0)" } ?? ""), setting.variable]
                })
    }

    @Test("sealing is on, off or determined by the secret; addresses are checked")
    func sealing() throws {
        #expect(try configuration().seals == nil)
        #expect(try configuration(["--seal"]).seals == true)
        #expect(try configuration(["--no-seal"], ["BRIDGE_SEAL": "on"]).seals == false)
        #expect(try configuration([], ["BRIDGE_SEAL": "off"]).seals == false)
        #expect(throws: Invocation.Problem.self) { try Invocation(["--seal", "--no-seal"]) }
        let hosts = ["--advertise-host", "box,10.0.0.1:99", "--advertise-host=https://x.example"]
        #expect(try configuration(hosts).advertisedHosts == ["box", "10.0.0.1:99", "https://x.example"])
        #expect(throws: SettingProblems.self) { try configuration(["--advertise-host", "ftp://x"]) }
    }

    @Test("the command pair has its own options")
    func pairing() throws {
        let given = try Invocation([
            "pair", "--json", "--local", "--rotate", "--png", "p", "--scheme", "my-app", "--seal",
        ])
        #expect(
            given.pairing
                == PairOptions(isJSON: true, isLocal: true, rotates: true, png: "p", scheme: "my-app")
                && given.flags == [.seal: "on"])
        for arguments in [
            ["serve", "--json"], ["pair", "--png"], ["pair", "--scheme", "My App"], ["pair", "now"],
        ] {
            #expect(throws: Invocation.Problem.self) { try Invocation(arguments) }
        }
        for (usage, summary) in PairOptions.usage {
            #expect(HelpText.text.contains("  \(usage)\n      \(summary)"))
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
