import JSON
import PushSealing
import Testing

@Suite("The result of a reply, from the agent to the phone", .timeLimit(.minutes(5)))
struct ReplyResultChainTests {
    private static let settings = ["BRIDGE_ALLOW_REPLIES": "on"]

    @Test(
        "the phone learns what became of each reply, sealed where the reply was",
        arguments: [(1, false), (1, true), (2, false), (2, true)])
    func results(generation: Int, isSealed: Bool) async throws {
        let key = isSealed ? PairingSecret() : nil
        let history = ["RELAY_HISTORY_DAYS": "1"]
        try await Chain.run(
            generation: generation, Self.settings, relaySettings: history, key: key
        ) { chain in
            let sessions = (1...5).map { "ses_\($0)" }
            for session in sessions {
                try await chain.does("session", ["id": .string(session), "title": "Fix auth bug"])
                try await chain.does("begin", ["id": .string(session)])
                try await chain.does(
                    "ask", ["id": .string(session), "request": .string("per_" + session), "command": "ls"])
            }
            #expect(try await chain.titles(atLeast: sessions.count).count == sessions.count)
            let events = try await chain.events(key: key)
            #expect(Set(events.keys) == Set(sessions))
            #expect(try await chain.fate(of: events["ses_1"], key: key) == "taken")
            try await chain.does("answer", ["request": "per_ses_2"])
            #expect(try await chain.fate(of: events["ses_2"], key: key) == "answered_elsewhere")
            try await chain.does("end", ["id": "ses_3", "outcome": "aborted"])
            let third = try #require(events["ses_3"])
            try await chain.closed(third)
            #expect(try await chain.fate(of: third, key: key) == "too_late")
            try await chain.does(
                "ask", ["id": "ses_4", "request": "per_ses_4", "command": "rm -rf /", "told": false])
            #expect(try await chain.fate(of: events["ses_4"], key: key) == "refused changed")
            // The server doesn't respond until the run has ended.
            try await chain.does("refuse", ["on": true])
            async let fate = chain.fate(of: events["ses_5"], key: key)
            _ = try await chain.bridge.line("it tries again") { $0.contains("trying again while it is open") }
            try await chain.does("end", ["id": "ses_5", "outcome": "aborted"])
            #expect(try await fate == "not_delivered status_503")
            try await chain.does("refuse", ["on": false])
            #expect(try await chain.given(atLeast: 1) == [["request": "per_ses_1", "reply": "once"]])
            let shown = try await chain.outcomesInHistory(key: key)
            #expect(
                sessions.map { events[$0].flatMap { shown[$0] } }
                    == ["taken", "answered_elsewhere", "too_late", "refused", "not_delivered"])
        }
    }
}
