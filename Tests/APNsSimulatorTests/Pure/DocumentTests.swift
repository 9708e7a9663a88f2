import APNsSimulator
import Foundation
import JSON
import ProgramTesting
import Programs
import Testing

@Suite("docs/reference/simulator.md", .timeLimit(.minutes(2)))
struct DocumentTests {
    private let text: String

    init() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../docs/reference/simulator.md")
        text = try String(contentsOf: root, encoding: .utf8)
    }

    /// The names in backticks in the first column of the table after a marker.
    private func names(behind mark: String) throws -> Set<String> {
        let start = try #require(text.range(of: "<!-- \(mark) -->\n")).upperBound
        let rows = text[start...].split(separator: "\n", omittingEmptySubsequences: false).prefix {
            $0.hasPrefix("|")
        }
        let cells = rows.dropFirst(2).map { $0.replacing("\\|", with: "/").split(separator: "|")[0] }
        return Set(
            cells.flatMap { cell in
                cell.split(separator: "`").enumerated().filter { $0.offset % 2 == 1 }.map {
                    String($0.element.split(separator: " ")[0])
                }
            })
    }

    @Test("It names only flags that exist")
    func flags() {
        let named = text.matches(of: /`(--[a-z-]+)/).map { String($0.1) }
        #expect(!named.isEmpty)
        for name in named { #expect(CommandOption.ofServe.contains { $0.name == name }, "\(name)") }
    }

    @Test("Help, completion scripts and the manual page have all commands and flags")
    func texts() throws {
        let check = TableCheck(SimulatorCommands.table)
        #expect(check.missingFromManual.isEmpty && check.inconsistencies.isEmpty)
        for shell in CompletionShell.allCases { #expect(check.missing(from: shell).isEmpty) }
        for program in ["bash", "zsh", "fish", "mandoc"] { #expect(try check.problems(program).isEmpty) }
        #expect(try check.bash(["apns-simulator", "--unknown-tokens", "re"]) == ["reject"])
        for option in CommandOption.ofServe {
            #expect(SimulatorCommands.table.help().contains("  \(option.usage)\n"))
        }
    }

    @Test("It documents exactly the fields of a rule")
    func ruleFields() throws {
        let problem = #expect(throws: ControlError.self) {
            try Rule(["unknown field": 1], id: "a", seed: 1, now: 0)
        }
        #expect(try names(behind: "rule fields") == fields(in: problem))
    }

    @Test("It documents exactly the fields of the limits")
    func limitFields() throws {
        let problem = #expect(throws: ControlError.self) {
            var settings = SimulatorSettings()
            try settings.update(["unknown field": 1])
        }
        #expect(try names(behind: "limit fields") == fields(in: problem))
        let shown = try #require(SimulatorSettings().json.object).members.map(\.name)
        #expect(try names(behind: "limit fields") == Set(shown))
    }

    @Test("It documents exactly the fields of a subscription, and Apple's and Mozilla's answers")
    func webPush() throws {
        let problem = #expect(throws: ControlError.self) { try WebPushSubscription(["unknown field": 1]) }
        #expect(try names(behind: "subscription fields") == fields(in: problem))
        for vendor in WebPushVendor.allCases { #expect(text.contains("`\(vendor.rawValue)`")) }
        for fault in WebPushFault.allCases {
            let (status, reason) = WebPushVendor.apple.answer(to: fault)
            #expect(text.contains("\(status) `\(reason)`"), "\(fault)")
            let mozilla = WebPushVendor.mozilla.answer(to: fault)
            #expect(text.contains("\(mozilla.status) \(mozilla.reason.prefix(3))"), "\(fault)")
        }
    }

    /// The known fields that the error for an unknown field lists.
    private func fields(in problem: ControlError?) throws -> Set<String> {
        let list = try #require(problem?.sentence.components(separatedBy: "; known fields: ").last)
        return Set(list.components(separatedBy: ", "))
    }

    @Test("It documents every reason that the simulator gives without a rule")
    func reasons() {
        let onlyByRule: Set<Reason> = [
            .badCertificate, .badCertificateEnvironment, .forbidden, .idleTimeout, .internalServerError,
            .serviceUnavailable, .shutdown, .tooManyRequests,
        ]
        for reason in Reason.allCases where !onlyByRule.contains(reason) {
            #expect(text.contains("`\(reason.rawValue)`"), "\(reason.rawValue)")
        }
    }
}
