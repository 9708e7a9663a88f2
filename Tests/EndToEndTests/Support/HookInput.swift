import Foundation
import JSON

/// The input that agents give to their hooks, and the output that they accept.
enum HookInput {
    static let rule: JSON.Value = [
        "type": "addRules", "rules": [["toolName": "Bash", "ruleContent": "git push"]], "behavior": "allow",
        "destination": "localSettings",
    ]

    static func request(
        _ command: String = "git push", event: String = "PermissionRequest",
        suggestions: [JSON.Value] = [rule],
        transcript: String = "/nowhere"
    ) -> JSON.Value {
        [
            "session_id": "7b2aebd9-1bea-4021-aad8-2602e27bb39d", "transcript_path": .string(transcript),
            "cwd": "/home/ada/shop", "prompt_id": "p1", "permission_mode": "default",
            "hook_event_name": .string(event), "tool_name": "Bash",
            "tool_input": ["command": .string(command), "description": "Pushes"],
            "permission_suggestions": .array(suggestions),
        ]
    }

    static func questions(_ agent: String) -> JSON.Value {
        let question: JSON.Value = [
            "id": "db", "header": "Choice", "question": "Which database?",
            "options": [
                ["label": "SQLite", "description": "one file"], ["label": "Postgres", "description": "b"],
            ],
            "multiSelect": true,
        ]
        return [
            "session_id": "s1", "cwd": "/home/ada/shop", "permission_mode": "default",
            "hook_event_name": agent == "claude" ? "PermissionRequest" : "PreToolUse",
            "tool_name": agent == "claude" ? "AskUserQuestion" : "request_user_input",
            "tool_input": ["questions": [question]],
        ]
    }

    static func decision(_ members: JSON.Value) -> JSON.Value {
        ["hookSpecificOutput": ["hookEventName": "PermissionRequest", "decision": members]]
    }

    /// Writes a transcript with a tool use, and with its result if it was answered.
    static func write(_ path: String, _ command: String, isAnswered: Bool) throws {
        var lines = [
            #"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"\#(command)","description":"Pushes"}}]}}"#
        ]
        if isAnswered {
            lines.append(
                #"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"ok"}]}}"#
            )
        }
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: path))
    }
}
