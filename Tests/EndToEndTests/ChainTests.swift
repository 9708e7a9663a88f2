import ChildProcess
import Foundation
import JSON
import Network
import Testing

@Suite("From the agent to the phone", .timeLimit(.minutes(5)))
struct ChainTests {
    @Test("a turn rings when it completes or fails, not when it is aborted", arguments: [1, 2])
    func turns(generation: Int) async throws {
        try await Chain.run(generation: generation) { chain in
            try await chain.does("session", ["id": "ses_1", "title": "Fix auth bug"])
            try await chain.does("begin", ["id": "ses_1"])
            try await chain.does("end", ["id": "ses_1", "outcome": "completed"])
            #expect(try await chain.titles(atLeast: 1) == ["Fix auth bug"])
            try await chain.does("begin", ["id": "ses_1"])
            try await chain.does("end", ["id": "ses_1", "outcome": "aborted"])
            try await chain.does("begin", ["id": "ses_1"])
            try await chain.does("end", ["id": "ses_1", "outcome": "failed"])
            #expect(try await chain.titles(atLeast: 2) == ["Fix auth bug", "Error: Fix auth bug"])
            try await chain.lastTurn()
            #expect(
                try await chain.titles(atLeast: 3) == [
                    "Fix auth bug", "Error: Fix auth bug", "Last ses_last",
                ])
            let pushes = try await chain.stack.control.pushes(token: token(1))
            #expect(pushes.first?["payload"]?["sessionID"] == "ses_1")
            #expect(pushes.first?["payload"]?["aps"]?["alert"]?["body"] == "Done.")
        }
    }

    @Test("a request rings under the root session if nobody answers", arguments: [1, 2])
    func requests(generation: Int) async throws {
        try await Chain.run(generation: generation) { chain in
            try await chain.does("session", ["id": "ses_1", "title": "Fix auth bug"])
            try await chain.does("begin", ["id": "ses_1"])
            try await chain.doesAtOnce([
                ["do": "ask", "id": "ses_1", "request": "per_answered"],
                ["do": "answer", "request": "per_answered"],
            ])
            try await chain.does("session", ["id": "ses_2", "title": "Explore", "parent": "ses_1"])
            try await chain.does("begin", ["id": "ses_2"])
            try await chain.does("ask", ["id": "ses_2", "request": "per_child"])
            #expect(try await chain.titles(atLeast: 1) == ["Action Needed: Fix auth bug"])
            try await chain.does("answer", ["request": "per_child"])
            try await chain.does("ask", ["id": "ses_1", "request": "que_1", "question": true])
            #expect(try await chain.titles(atLeast: 2).count == 2)
            try await chain.does("answer", ["request": "que_1"])
            // The abort withdraws the request without a separate event.
            try await chain.doesAtOnce([
                ["do": "ask", "id": "ses_1", "request": "per_vanished"],
                ["do": "end", "id": "ses_2", "outcome": "aborted"],
                ["do": "end", "id": "ses_1", "outcome": "aborted"],
            ])
            try await chain.does("session", ["id": "ses_3", "title": "Other"])
            try await chain.does("begin", ["id": "ses_3"])
            try await chain.does("ask", ["id": "ses_3", "request": "per_last"])
            #expect(try await chain.titles(atLeast: 3).last == "Action Needed: Other")
            #expect(try await chain.titles(atLeast: 3).count == 3)
        }
    }

    @Test("a session rings once its agents in the background are done", arguments: [1, 2])
    func background(generation: Int) async throws {
        try await Chain.run(generation: generation) { chain in
            try await chain.does("session", ["id": "ses_1", "title": "Fix auth bug"])
            try await chain.does("begin", ["id": "ses_1"])
            try await chain.does("session", ["id": "ses_2", "title": "Explore", "parent": "ses_1"])
            try await chain.does("begin", ["id": "ses_2"])
            try await chain.does("end", ["id": "ses_1", "outcome": "completed", "text": "Started."])
            try await chain.lastTurn()
            #expect(try await chain.titles(atLeast: 1) == ["Last ses_last"])
            try await chain.doesAtOnce([
                ["do": "end", "id": "ses_2", "outcome": "completed"], ["do": "begin", "id": "ses_1"],
            ])
            try await chain.does("end", ["id": "ses_1", "outcome": "completed", "text": "All done."])
            #expect(try await chain.titles(atLeast: 2) == ["Last ses_last", "Fix auth bug"])
            let pushes = try await chain.stack.control.pushes(token: token(1))
            #expect(pushes.last?["payload"]?["aps"]?["alert"]?["body"] == "All done.")
        }
    }

    @Test("events during a stream's outage ring once after it is back", arguments: [1, 2])
    func gap(generation: Int) async throws {
        try await Chain.run(generation: generation) { chain in
            for id in ["ses_1", "ses_2"] {
                try await chain.does("session", ["id": .string(id), "title": .string("Fix \(id)")])
                try await chain.does("begin", ["id": .string(id)])
            }
            // A stream ends only after everything sent on it has arrived.
            try await chain.does("refuse", ["on": true])
            try await chain.does("drop")
            try await chain.does("end", ["id": "ses_1", "outcome": "completed", "told": false])
            try await chain.does("ask", ["id": "ses_2", "request": "per_1", "told": false])
            try await chain.does("refuse", ["on": false])
            // The ring may come from the first comparison, before the stream is connected again.
            try await chain.connected(times: 2)
            #expect(
                try await chain.titles(atLeast: 2).sorted() == ["Action Needed: Fix ses_2", "Fix ses_1"])
            try await chain.lastTurn()
            #expect(try await chain.titles(atLeast: 3).count == 3)
        }
    }

    @Test(
        "a turn that ends while the stream is silent rings once, after the bridge has connected again",
        arguments: [1, 2])
    func silence(generation: Int) async throws {
        try await Chain.run(generation: generation, ["BRIDGE_STREAM_TIMEOUT": "5"]) { chain in
            try await chain.does("session", ["id": "ses_1", "title": "Fix auth bug"])
            try await chain.does("begin", ["id": "ses_1"])
            try await chain.doesAtOnce([
                ["do": "silence", "on": true], ["do": "end", "id": "ses_1", "outcome": "completed"],
            ])
            _ = try await chain.bridge.line("it noticed the silence") {
                $0.contains("no data received for 5 s")
            }
            try await chain.connected(times: 2)
            #expect(try await chain.titles(atLeast: 1) == ["Fix auth bug"])
            try await chain.does("silence", ["on": false])
            try await chain.lastTurn()
            #expect(try await chain.titles(atLeast: 2) == ["Fix auth bug", "Last ses_last"])
        }
    }

    @Test("while someone is typing, completed runs are quiet; errors and permissions ring")
    func quiet() async throws {
        let terminal = try Terminal()
        try terminal.type("make\n")
        let settings = ["BRIDGE_QUIET_WHILE_ACTIVE": "1440", "BRIDGE_DEBUG": "on"]
        try await Chain.run(generation: 2, settings) { chain in
            try await chain.does("session", ["id": "ses_1", "title": "Fix auth bug"])
            try await chain.does("begin", ["id": "ses_1"])
            try await chain.does("end", ["id": "ses_1", "outcome": "completed"])
            _ = try await chain.bridge.line("it is quiet") {
                $0.contains("complete of ses_1 doesn't ring: someone is typing")
            }
            try await chain.does("begin", ["id": "ses_1"])
            try await chain.does("end", ["id": "ses_1", "outcome": "failed"])
            #expect(try await chain.titles(atLeast: 1) == ["Error: Fix auth bug"])
            let hook = try await chain.command(["hook", "generic", "--debug", "{}"])
            #expect(hook.output.contains("someone is typing"), "\(hook.output)")
            try await chain.does("session", ["id": "ses_2", "title": "Other"])
            try await chain.does("begin", ["id": "ses_2"])
            try await chain.does("ask", ["id": "ses_2", "request": "per_1"])
            #expect(
                try await chain.titles(atLeast: 2) == ["Error: Fix auth bug", "Action Needed: Other"])
        }
        withExtendedLifetime(terminal) {}
    }

    @Test("events survive restarts of bridge and relay, and none arrives twice", arguments: [1, 2])
    func durability(generation: Int) async throws {
        let port = try ReservedPort()
        let settings = ["PORT": String(port.number)]
        try await Chain.run(generation: generation, relaySettings: settings) { chain in
            try await chain.stack.relay.stop()
            try await chain.does("session", ["id": "ses_1", "title": "Fix auth bug"])
            try await chain.does("begin", ["id": "ses_1"])
            try await chain.does("end", ["id": "ses_1", "outcome": "completed"])
            _ = try await chain.bridge.line("it needs the relay") { $0.contains("the relay doesn't answer") }
            try await chain.does("session", ["id": "ses_2", "title": "Later"])
            try await chain.does("begin", ["id": "ses_2"])
            _ = try await eventually {
                try chain.queueFile()
            } until: {
                $0.contains(#"{"began":"ses_2""#)
            }
            chain.bridge.signal(SIGKILL)
            _ = try await chain.bridge.ended()
            // The run ends while no bridge is running.
            try await chain.does("end", ["id": "ses_2", "outcome": "completed"])
            try await chain.stack.restartRelay()
            try await chain.restartBridge()
            #expect(try await chain.titles(atLeast: 2).sorted() == ["Fix auth bug", "Later"])
            chain.bridge.signal(SIGKILL)
            _ = try await chain.bridge.ended()
            try await chain.restartBridge()
            try await chain.lastTurn()
            #expect(try await chain.titles(atLeast: 3).last == "Last ses_last")
            #expect(try await chain.titles(atLeast: 3).count == 3)
        }
        withExtendedLifetime(port) {}
    }

    @Test("check and test explain the chain; hooks ring with and without a running bridge")
    func commands() async throws {
        try await Chain.run(generation: 2) { chain in
            let rung = try await chain.command(["test"])
            #expect(rung.status == 0 && rung.output.contains("sent 1"), "\(rung.output)")
            let check = try await chain.command(["check"])
            #expect(check.status == 0, "\(check.output)")
            for step in [
                "OpenCode 2.0.26", "event stream: alive", "relay: ready", "ok     device", "serving",
            ] {
                #expect(check.output.contains(step), "\(step)\n\(check.output)")
            }
            let turn =
                #"{"type":"agent-turn-complete","thread-id":"t","turn-id":"1","client":"codex-tui","cwd":"/x/shop"}"#
            for _ in 1...2 {
                let hook = try await chain.command(["hook", "codex", turn])
                #expect(hook.status == 0 && hook.output.isEmpty, "\(hook.output)")
            }
            let end =
                #"{"session_id":"s","prompt_id":"p","cwd":"/x/api","hook_event_name":"Stop","last_assistant_message":"Done."}"#
            for _ in 1...2 { _ = try await chain.command(["hook", "claude-code", end]) }
            // Events of different sessions are posted concurrently.
            #expect(
                try await chain.titles(atLeast: 3).sorted() == [
                    "Test of the bridge", "api (Claude Code)", "shop (Codex)",
                ])
            // The relay lists an end only after a few seconds.
            var outcomes = ""
            while !outcomes.contains("oc-test-") {
                outcomes = try await chain.command(["outcomes"]).output
            }
            #expect(outcomes.hasPrefix("TIME (UTC)") && outcomes.contains("  sent "), "\(outcomes)")
            let lines = try await chain.command(["outcomes", "--json", "--hours", "1"])
            #expect(lines.status == 0 && lines.output.hasPrefix(#"{"type":"push","at":""#), "\(lines.output)")
            try await chain.bridge.stop()
            let alone = try await chain.command(["check"])
            #expect(alone.status == 1 && alone.output.contains("bridge: not running"), "\(alone.output)")
            let direct = try await chain.command(["hook", "generic", "--debug", #"{"title":"Build"}"#])
            #expect(direct.status == 0 && !direct.output.contains("doesn't ring"), "\(direct.output)")
            for mistake in [
                ["hook"], ["hook", "other"], ["hook", "codex", "{"], ["hook", "codex", "--what"],
            ] {
                let hook = try await chain.command(mistake)
                #expect(hook.status == 0 && hook.output.isEmpty, "\(hook.output)")
            }
            try await chain.restartBridge()
            #expect(try await chain.titles(atLeast: 4).last == "Build")
            #expect(try await chain.titles(atLeast: 4).count == 4)
        }
    }
}
