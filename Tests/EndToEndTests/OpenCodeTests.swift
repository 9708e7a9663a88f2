import ChildProcess
import Glibc
import JSON
import Testing

@Suite("Behaviour of real OpenCode servers", .timeLimit(.minutes(5)))
struct OpenCodeTests {
    private static let replies = ["BRIDGE_ALLOW_REPLIES": "on", "BRIDGE_SHOW_COMMANDS": "on"]

    @Test("a permission that breaks its directory's list rings like the others and can be answered")
    func unlistable() async throws {
        try await Chain.run(generation: 1, Self.replies) { chain in
            for id in ["ses_1", "ses_2"] {
                try await chain.does("session", ["id": .string(id), "title": .string("Fix \(id)")])
                try await chain.does("begin", ["id": .string(id)])
            }
            try await chain.does(
                "ask",
                [
                    "id": "ses_1", "request": "per_odd", "permission": "webfetch",
                    "metadata": ["url": "http://127.0.0.1/", "format": "text"],
                ])
            #expect(try await chain.titles(atLeast: 1) == ["Action Needed: Fix ses_1"])
            _ = try await chain.bridge.line("it names the list") {
                $0.contains("can't list the open requests")
            }
            let check = try await chain.command(["check"])
            #expect(check.status == 1 && check.output.contains("FAULT  open requests"), "\(check.output)")
            try await chain.does(
                "ask", ["id": "ses_2", "request": "per_1", "command": "cd sub && make clean"])
            #expect(try await chain.titles(atLeast: 2).count == 2)
            let push = try #require(try await chain.stack.control.pushes(token: token(1)).last?["payload"])
            #expect(push["aps"]?["alert"]?["body"] == "bash: cd sub && make clean")
            let given = try await chain.answers(try #require(push["body"]?["eventID"]))
            #expect(given == [["request": "per_1", "reply": "once"]])
        }
    }

    @Test("requests of aborted or deleted sessions don't ring, also after a restart", arguments: [1, 2])
    func ghosts(generation: Int) async throws {
        try await Chain.run(generation: generation) { chain in
            for id in ["ses_aborted", "ses_deleted", "ses_again"] {
                try await chain.does("session", ["id": .string(id), "title": .string(id)])
                try await chain.does("begin", ["id": .string(id)])
            }
            try await chain.doesAtOnce([
                ["do": "ask", "id": "ses_aborted", "request": "per_1"],
                ["do": "end", "id": "ses_aborted", "outcome": "aborted"],
                ["do": "ask", "id": "ses_deleted", "request": "per_2"],
                ["do": "delete", "id": "ses_deleted"],
                ["do": "ask", "id": "ses_again", "request": "per_3"],
                ["do": "end", "id": "ses_again", "outcome": "aborted"],
                ["do": "ask", "id": "ses_aborted", "request": "que_1", "question": true, "told": false],
            ])
            try await chain.lastTurn()
            #expect(try await chain.titles(atLeast: 1) == ["Last ses_last"])
            #expect(try await chain.bridge.stop() == 0)
            // This run belongs to another session than the one that asked.
            try await chain.does("begin", ["id": "ses_again"])
            try await chain.restartBridge()
            try await chain.does("session", ["id": "ses_1", "title": "Other"])
            try await chain.does("begin", ["id": "ses_1"])
            try await chain.does("ask", ["id": "ses_1", "request": "per_4"])
            #expect(try await chain.titles(atLeast: 2) == ["Last ses_last", "Action Needed: Other"])
        }
    }

    @Test("a permission doesn't ring again after restarts of bridge and server", arguments: [1, 2])
    func restarted(generation: Int) async throws {
        try await Chain.run(generation: generation, ["BRIDGE_REPEAT": "15"]) { chain in
            try await chain.does("session", ["id": "ses_1", "title": "Fix auth bug"])
            try await chain.does("begin", ["id": "ses_1"])
            try await chain.does("ask", ["id": "ses_1", "request": "per_1"])
            #expect(try await chain.titles(atLeast: 1).count == 1)
            let database = chain.stack.directory.file("relay.db")
            #expect(try deliveryRows(database, table: "schedule") == 1)
            #expect(try await chain.bridge.stop() == 0)
            try await chain.does("restart")
            try await chain.restartBridge()
            let left = try await eventually {
                try deliveryRows(database, table: "schedule")
            } until: {
                $0 == 0
            }
            #expect(left == 0)
        }
    }

    @Test("a bridge that starts late finds requests in a directory without a repository")
    func late() async throws {
        try await Chain.run(generation: 1) { chain in
            #expect(try await chain.bridge.stop() == 0)
            try await chain.does(
                "session", ["id": "ses_1", "title": "Notes", "directory": "/home/ada/notes"])
            try await chain.does("begin", ["id": "ses_1"])
            try await chain.does("ask", ["id": "ses_1", "request": "per_1"])
            try await chain.restartBridge()
            #expect(try await chain.titles(atLeast: 1) == ["Action Needed: Notes"])
        }
    }

    @Test("a turn of 1.18's other API rings for its requests, which can be answered, and for its end")
    func otherAPI() async throws {
        try await Chain.run(generation: 1, Self.replies) { chain in
            try await chain.does("session", ["id": "ses_1", "title": "Fix auth bug"])
            try await chain.does("prompt", ["id": "ses_1", "request": "per_1"])
            #expect(try await chain.titles(atLeast: 1) == ["Action Needed: Fix auth bug"])
            let push = try #require(try await chain.stack.control.pushes(token: token(1)).last?["payload"])
            let given = try await chain.answers(try #require(push["body"]?["eventID"]))
            #expect(given == [["request": "per_1", "reply": "once"]])
            try await chain.does("finish", ["id": "ses_1", "text": "Listed."])
            #expect(try await chain.titles(atLeast: 2).last == "Fix auth bug")
            let end = try await chain.stack.control.pushes(token: token(1)).last?["payload"]
            #expect(end?["aps"]?["alert"]?["body"] == "Listed.")
        }
    }

    @Test(
        "a turn that ended while nothing listened rings once, and no other session's",
        arguments: [(1, false), (2, false), (2, true)])
    func gap(generation: Int, isPreview: Bool) async throws {
        try await Chain.run(generation: generation, isPreview: isPreview) { chain in
            let sessions = ["ses_done", "ses_busy", "ses_aborted"]
            for id in sessions {
                try await chain.does("session", ["id": .string(id), "title": .string("Title of " + id)])
                try await chain.does("begin", ["id": .string(id)])
            }
            _ = try await eventually {
                try chain.queueFile()
            } until: { file in
                sessions.allSatisfy { file.contains(#""began":"\#($0)""#) }
            }
            try await chain.doesAtOnce([
                ["do": "drop"],
                ["do": "end", "id": "ses_done", "outcome": "completed", "told": false],
                ["do": "end", "id": "ses_aborted", "outcome": "aborted", "told": false],
            ])
            #expect(try await chain.titles(atLeast: 1) == ["Title of ses_done"])
            try await chain.does("drop")
            try await chain.connected(times: 3)
            #expect(try await chain.bridge.stop() == 0)
            try await chain.restartBridge()
            try await chain.does("end", ["id": "ses_busy", "outcome": "completed"])
            #expect(
                try await chain.titles(atLeast: 2) == ["Title of ses_done", "Title of ses_busy"])
        }
    }

    @Test("a turn that began and ended while nothing listened rings, once, if the server recorded its end")
    func missed() async throws {
        try await Chain.run(generation: 2) { chain in
            for id in ["ses_1", "ses_2"] { try await chain.lastTurn(id) }
            #expect(try await chain.titles(atLeast: 2).sorted() == ["Last ses_1", "Last ses_2"])
            for number in 2...3 {
                try await chain.doesAtOnce([
                    ["do": "drop"], ["do": "begin", "id": "ses_1"],
                    ["do": "end", "id": "ses_1", "outcome": "completed", "text": .string("End \(number).")],
                ])
                #expect(try await chain.titles(atLeast: number + 1).last == "Last ses_1")
                let push = try await chain.stack.control.pushes(token: token(1)).last?["payload"]
                #expect(push?["aps"]?["alert"]?["body"]?.string == "End \(number).")
            }
            try await chain.lastTurn("ses_3")
            #expect(try await chain.titles(atLeast: 5).last == "Last ses_3")
        }
    }

    @Test("a turn lost with its server rings as an error", arguments: [1, 2])
    func lost(generation: Int) async throws {
        try await Chain.run(generation: generation) { chain in
            try await chain.does("session", ["id": "ses_1", "title": "Fix auth bug"])
            try await chain.does("begin", ["id": "ses_1"])
            try await chain.does("message", ["id": "ses_1", "role": "assistant", "text": "I start."])
            try await chain.lastTurn()
            #expect(try await chain.titles(atLeast: 1) == ["Last ses_last"])
            try await chain.does("restart")
            #expect(try await chain.titles(atLeast: 2).last == "Error: Fix auth bug")
        }
    }

    @Test("a turn rings as an error if the server stops and doesn't come back")
    func gone() async throws {
        try await Chain.run(generation: 1) { chain in
            try await chain.does("session", ["id": "ses_1", "title": "Fix auth bug"])
            try await chain.does("begin", ["id": "ses_1"])
            _ = try await eventually {
                try chain.queueFile()
            } until: {
                $0.contains(#""began":"ses_1""#)
            }
            chain.server.signal(SIGKILL)
            #expect(try await chain.titles(atLeast: 1) == ["Error: shop"])
            let push = try await chain.stack.control.pushes(token: token(1)).last?["payload"]
            let body = push?["aps"]?["alert"]?["body"]?.string ?? ""
            #expect(body.contains("stopped during this run"))
        }
    }
}

extension Chain {
    /// Allows an event's request once; returns the replies that the server received.
    fileprivate func answers(_ eventID: JSON.Value) async throws -> [JSON.Value] {
        var reply = JSON.Object()
        reply["secret"] = .string(phoneSecret)
        reply["eventID"] = eventID
        reply["action"] = "once"
        #expect(try await stack.http.post("/v1/reply", reply).json()["ok"] == true)
        return try await eventually {
            try await does("replies")["replies"]?.array ?? []
        } until: {
            !$0.isEmpty
        }
    }
}
