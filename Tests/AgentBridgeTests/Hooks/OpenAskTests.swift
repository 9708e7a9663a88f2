import ChildProcess
import Foundation
import JSON
import Programs
import Testing

@testable import AgentBridge

@Suite("Requests that wait for the phone", .timeLimit(.minutes(2)))
struct OpenAskTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func input(
        _ event: String, _ command: String = "ls", session: String = "s", more: JSON.Value = [:]
    )
        -> JSON.Value
    {
        var members = more.object ?? JSON.Object()
        members["session_id"] = .string(session)
        members["hook_event_name"] = .string(event)
        members["tool_name"] = members["tool_name"] ?? "Bash"
        members["tool_input"] = members["tool_input"] ?? ["command": .string(command)]
        return .object(members)
    }

    @Test("it ends once, and by the hooks that show its end")
    func ends() throws {
        func ask(_ number: String) throws -> OpenAsk {
            try OpenAsk(input("PermissionRequest"), of: .claudeCode, number: number, state: directory.path)
        }
        let first = try ask("1")
        #expect(first.isOpen && first.close() && !first.isOpen && !first.close())
        let others: [JSON.Value] = [
            input("PostToolUse", "pwd"), input("PostToolUse", session: "t"), input("PreToolUse"),
            input("Stop", session: "t"), input("Stop", more: ["agent_id": "a"]),
            input("Stop", more: ["background_tasks": [["status": "running"]]]),
        ]
        let second = try ask("2")
        for other in others { OpenAsk.closeOver(other, of: .claudeCode, state: directory.path) }
        OpenAsk.closeOver(input("PostToolUse"), of: .codex, state: directory.path)
        #expect(second.isOpen)
        for event in ["PostToolUse", "Stop", "StopFailure", "SessionEnd"] {
            let open = try ask(event)
            OpenAsk.closeOver(input(event), of: .claudeCode, state: directory.path)
            #expect(!open.isOpen && !open.close(), "\(event)")
        }
    }

    @Test("answered questions are recognized though their input has the answers then")
    func questions() throws {
        let name: JSON.Value = ["tool_name": "AskUserQuestion", "tool_input": ["questions": []]]
        let ask = try OpenAsk(
            input("PermissionRequest", more: name), of: .claudeCode, number: "1", state: directory.path)
        let after: JSON.Value = [
            "tool_name": "AskUserQuestion", "tool_input": ["questions": [], "answers": [:]],
        ]
        OpenAsk.closeOver(input("PostToolUse", more: after), of: .claudeCode, state: directory.path)
        #expect(!ask.isOpen)
    }

    @Test("the transcript shows that a request was answered, and only that one")
    func transcript() throws {
        let path = directory.path + "/transcript"
        func write(_ lines: [String]) throws {
            try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: path))
        }
        func use(_ id: String, _ command: String) -> String {
            #"{"message":{"content":[{"type":"tool_use","id":"\#(id)","name":"Bash","input":{"command":"\#(command)"}}]}}"#
        }
        func result(_ id: String) -> String {
            #"{"message":{"content":[{"type":"tool_result","tool_use_id":"\#(id)"}]}}"#
        }
        let asked = input("PermissionRequest", more: ["transcript_path": .string(path)])
        // The same command was run before.
        try write([use("1", "ls"), result("1"), use("2", "ls")])
        let transcript = ClaudeTranscript(asked)
        // It is also open while the second run, allowed at the desk, is in progress: the transcript only shows its end.
        #expect(transcript.state == .open)
        try write([use("1", "ls"), result("1"), use("2", "ls"), use("3", "pwd"), result("3"), "broken"])
        #expect(transcript.state == .open)
        try write([use("1", "ls"), result("1"), use("2", "ls"), result("2")])
        #expect(transcript.state == .answered)
        try write([use("3", "pwd"), result("3")])
        #expect(ClaudeTranscript(asked).state == .unknown)
        #expect(
            ClaudeTranscript(input("PermissionRequest", more: ["transcript_path": "/nowhere"])).state
                == .unknown)
        #expect(ClaudeTranscript(input("PermissionRequest")).state == .unknown)
    }

    @Test("the log of decisions is private, bounded, and one line each")
    func log() throws {
        let log = DecisionLog(directory: directory.path)
        let path = directory.path + "/decisions.log"
        try log.append("codex", tool: "mcp a\n\u{202E}", digest: "d", decision: "once", at: 0)
        let line = try String(contentsOfFile: path, encoding: .utf8)
        #expect(line == "1970-01-01T00:00:00.000Z codex mcp_a__ d once\n")
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let old = String(repeating: "an old line\n", count: Bounds.decisionFileBytesMax / 12 + 1)
        try Data(old.utf8).write(to: URL(fileURLWithPath: path))
        try log.append("codex", tool: "Bash", digest: "d", decision: "reject", at: 0)
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        #expect(lines.last == "1970-01-01T00:00:00.000Z codex Bash d reject" && lines.first == "an old line")
        #expect(lines.count < Bounds.decisionFileBytesMax / 12 / 2 + 2)
        #expect(throws: FileError.self) {
            try DecisionLog(directory: "/dev/null/x").append(
                "a", tool: "t", digest: "d", decision: "once", at: 0)
        }
    }
}
