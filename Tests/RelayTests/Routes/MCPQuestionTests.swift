import APNs
import HTTPServer
import JSON
import Programs
import Storage
import Testing

@testable import Relay

@Suite("Questions of agents to their users", .timeLimit(.minutes(2)))
struct MCPQuestionTests {
    private static func with(
        _ options: RelayFixture.Options = .init(), _ body: (RelayFixture) async throws -> Void
    ) async throws {
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            try await body(relay)
        }
    }

    /// Calls the tool as an older client does, and returns its result.
    private static func ask(_ relay: RelayFixture, _ members: JSON.Value = [:]) async -> JSON.Value {
        var arguments = JSON.Object()
        arguments["question"] = "Which database?"
        arguments["choices"] = ["SQLite", "Postgres"]
        arguments["timeout"] = 60
        for member in members.object?.members ?? [] { arguments[member.name] = member.value }
        let call: JSON.Value = ["name": "ask_user", "arguments": .object(arguments)]
        return await MCPTests.post(relay, MCPTests.legacy("tools/call", call)).json["result"] ?? .null
    }

    /// Waits until the given number of agents is waiting, and returns the pushes' payloads.
    private static func asked(_ relay: RelayFixture, waiting: Int = 1) async throws -> [JSON.Value] {
        #expect(await relay.until { $0.services.shared.replies.figures.waiting == waiting })
        let pushes = await relay.onLoop { $0.production.pushes }
        return try pushes.filter { $0.notification.pushType == .alert }.map {
            try JSON.parse($0.notification.payload, maxBytes: 4_096)
        }
    }

    private static func reply(
        _ relay: RelayFixture, _ eventID: JSON.Value?, _ members: JSON.Value
    ) async -> JSON.Value {
        var body = members.object ?? JSON.Object()
        body["secret"] = .string(RelayFixture.secret)
        body["eventID"] = eventID
        return await relay.post("/v1/reply", .object(body)).json
    }

    private static func text(_ result: JSON.Value) -> String {
        result["content"]?.array?.first?["text"]?.string ?? ""
    }

    @Test("The user's choice is the call's result, and the phone learns that it was taken")
    func answered() async throws {
        try await Self.with { relay in
            async let result = Self.ask(relay, ["title": "shop", "sessionID": "ses_1"])
            let push = try #require(try await Self.asked(relay).first)
            #expect(
                push["aps"]?["alert"]
                    == ["title": "shop", "body": "Which database?\n1. SQLite\n2. Postgres"])
            #expect(push["actions"] == ["1", "2", "reject"] && push["kind"] == "permission")
            #expect(push["aps"]?["category"] == nil && push["sessionID"] == "ses_1")
            let eventID = push["eventID"]
            #expect(await Self.reply(relay, eventID, ["action": "once"])["code"] == "invalid_field")
            #expect(await Self.reply(relay, eventID, ["action": "2", "text": "It scales."])["ok"] == true)
            let structured = try #require(await result["structuredContent"])
            #expect(structured["status"] == "answered" && structured["choice"] == 2)
            #expect(structured["answer"] == "Postgres" && structured["message"] == "It scales.")
            let again = await Self.reply(relay, eventID, ["action": "2", "text": "It scales.", "timeout": 1])
            #expect(again["result"]?["outcome"] == "taken")
            // The same call is repeated, perhaps because its response was lost.
            let id = try #require(structured["questionID"])
            #expect(
                await Self.ask(relay, ["sessionID": "ses_1", "questionID": id])["structuredContent"]
                    == structured)
        }
    }

    @Test("A user who chooses nothing declines, and can say why")
    func declined() async throws {
        try await Self.with { relay in
            async let result = Self.ask(relay)
            let push = try #require(try await Self.asked(relay).first)
            _ = await Self.reply(relay, push["eventID"], ["action": "reject", "text": "Neither."])
            let declined = await result
            #expect(declined["isError"] == false)
            #expect(declined["structuredContent"]?["status"] == "declined")
            #expect(declined["structuredContent"]?["message"] == "Neither.")
            #expect(declined["structuredContent"]?["choice"] == nil)
            async let sealed = Self.ask(relay)
            let next = try #require(try await Self.asked(relay).last)
            // The action next to an envelope isn't the answer.
            _ = await Self.reply(relay, next["eventID"], ["action": "1", "sealed": "AQ"])
            #expect(await sealed["isError"] == true)
            let known = await Self.reply(
                relay, next["eventID"], ["action": "1", "sealed": "AQ", "timeout": 1])
            #expect(known["result"]?["outcome"] == "refused" && known["result"]?["reason"] == "unreadable")
        }
    }

    @Test("Where the agent allows it, the user can write an answer, beside choices or alone")
    func ownText() async throws {
        try await Self.with { relay in
            for (choices, actions) in [
                (["SQLite"], ["1", "write", "reject"]), ([], ["write", "reject"]),
            ] as [(JSON.Value, JSON.Value)] {
                // Models also write booleans as text.
                async let result = Self.ask(relay, ["choices": choices, "allowText": "true"])
                let push = try #require(try await Self.asked(relay).last)
                #expect(push["actions"] == actions)
                let reply: JSON.Value = ["action": "write", "text": " Both, \u{1F600} "]
                #expect(await Self.reply(relay, push["eventID"], reply)["ok"] == true)
                let structured = try #require(await result["structuredContent"])
                #expect(structured["status"] == "answered" && structured["answer"] == " Both, \u{1F600} ")
                #expect(structured["choice"] == nil && structured["message"] == nil)
                // The question's ID belongs to this question only.
                let id = try #require(structured["questionID"])
                let other = await Self.ask(relay, ["choices": ["SQLite"], "questionID": id])
                #expect(Self.text(other).hasPrefix("questionID belongs to another question"))
            }
            async let chosen = Self.ask(relay, ["allowText": true])
            let push = try #require(try await Self.asked(relay).last)
            _ = await Self.reply(relay, push["eventID"], ["action": "1", "text": "It is small."])
            let structured = try #require(await chosen["structuredContent"])
            #expect(structured["choice"] == 1 && structured["message"] == "It is small.")
        }
    }

    @Test(
        "An own answer without words, or where only choices are allowed, is none",
        arguments: [(true, nil), (true, " \n"), (false, "Both")] as [(Bool, JSON.Value?)])
    func noOwnText(isAllowed: Bool, text: JSON.Value?) async throws {
        try await Self.with { relay in
            async let result = Self.ask(relay, ["allowText": .bool(isAllowed)])
            let push = try #require(try await Self.asked(relay).last)
            var reply = JSON.Object()
            reply["action"] = "write"
            reply["text"] = text
            let stored = await Self.reply(relay, push["eventID"], .object(reply))
            if isAllowed {
                #expect(stored["ok"] == true)
                #expect(await result["isError"] == true)
                reply["timeout"] = 1
                let known = await Self.reply(relay, push["eventID"], .object(reply))
                #expect(known["result"]?["outcome"] == "refused")
            } else {
                #expect(stored["code"] == "invalid_field", "the event doesn't offer it")
                _ = await Self.reply(relay, push["eventID"], ["action": "reject"])
                #expect(await result["structuredContent"]?["status"] == "declined")
            }
        }
    }

    @Test("Without an answer, the status is waiting until the time limit, and never a choice")
    func timedOut() async throws {
        try await Self.with { relay in
            // The wait lasts a second, while the relay's clock stands still.
            let waiting = await Self.ask(relay, ["timeout": 1])
            #expect(waiting["structuredContent"]?["status"] == "waiting")
            let id = try #require(waiting["structuredContent"]?["questionID"])
            relay.pass(.seconds(1))
            let over = await Self.ask(relay, ["timeout": 1, "questionID": id])
            #expect(
                over["isError"] == false
                    && over["structuredContent"] == ["questionID": id, "status": "timed_out"])
            #expect(Self.text(over) == "The user didn't answer in time. Don't assume an answer.")
            // A late answer doesn't count, and the phone gets that result.
            let push = try #require(try await Self.asked(relay, waiting: 0).first)
            let late = await Self.reply(relay, push["eventID"], ["action": "1", "timeout": 1])
            #expect(late["result"]?["outcome"] == "too_late")
            let still = await Self.ask(relay, ["timeout": 1, "questionID": id])
            #expect(still["structuredContent"]?["status"] == "timed_out")
            // The phones needn't show the question any more.
            let cleared = await relay.onLoop {
                $0.production.pushes.count { $0.notification.pushType == .background }
            }
            #expect(cleared == 1)
        }
    }

    @Test("An answer counts only for the question, the choices and the session that the user was shown")
    func otherQuestion() async throws {
        try await Self.with { relay in
            let waiting = await Self.ask(relay, ["timeout": 1])
            let id = try #require(waiting["structuredContent"]?["questionID"])
            let push = try #require(try await Self.asked(relay, waiting: 0).first)
            #expect(await Self.reply(relay, push["eventID"], ["action": "1"])["ok"] == true)
            for other in [
                ["choices": ["Postgres", "SQLite"]], ["question": "Which table?"], ["sessionID": "ses_2"],
            ] as [JSON.Value] {
                var members = try #require(other.object)
                members["questionID"] = id
                let refused = await Self.ask(relay, .object(members))
                #expect(refused["isError"] == true)
                #expect(Self.text(refused).hasPrefix("questionID belongs to another question"))
            }
            let answered = await Self.ask(relay, ["questionID": id])
            #expect(answered["structuredContent"]?["answer"] == "SQLite")
        }
    }

    @Test("A session has one open question, also across the ends of its numbers, and others have their own")
    func single() async throws {
        try await Self.with { relay in
            let first = await Self.ask(relay, ["timeout": 1])
            let other = await Self.ask(relay, ["timeout": 1, "sessionID": "ses_2"])
            relay.pass(.seconds(Bounds.questionSecondsMax))
            let second = await Self.ask(relay, ["timeout": 1, "question": "Which table?"])
            let third = await Self.ask(relay, ["timeout": 1])
            let ids = try [first, other, second, third].map {
                try #require($0["structuredContent"]?["questionID"]?.string)
            }
            #expect(Set(ids).count == 4)
            var states: [JSON.Value?] = []
            for (id, question) in [
                (ids[0], "Which database?"), (ids[2], "Which table?"), (ids[3], "Which database?"),
            ] {
                let result = await Self.ask(
                    relay, ["timeout": 1, "questionID": .string(id), "question": .string(question)])
                states.append(result["structuredContent"]?["status"])
            }
            #expect(states == ["replaced", "replaced", "waiting"])
            let late = await Self.ask(relay, ["sessionID": "ses_2", "questionID": .string(ids[1])])
            #expect(late["structuredContent"]?["status"] == "timed_out")
        }
    }

    @Test("Faults, too many questions and phones that can't be reached are results that the agent can read")
    func refused() async throws {
        var shown = JSON.Object()
        shown["question"] = "Which database?"
        shown["choices"] = ["SQLite", "Postgres"]
        let unknown = AskedQuestion(
            session: "00", span: 0, number: 0, end: 1, digest: try QuestionArguments(shown).digest)
        try await Self.with { relay in
            let faults: [(JSON.Value, String)] = [
                (["question": " "], "question"), (["choices": []], "choices"),
                (["choices": ["a", "a"]], "choices"),
                (["choices": ["1", "2", "3", "4", "5", "6", "7", "8"]], "choices"),
                (["choices": [], "allowText": false], "choices"), (["allowText": 1], "allowText"),
                (["choices": ["1", "2", "3", "4", "5", "6", "7"], "allowText": true], "choices"),
                (["timeout": 601], "timeout"), (["timeout": 0], "timeout"),
                (["questionID": "x"], "questionID"),
                (["sessionID": "a\0"], "sessionID"), (["answer": "yes"], "Unknown"),
                (["questionID": .string(unknown.id)], "There is no such question"),
            ]
            for (members, start) in faults {
                let refused = await Self.ask(relay, members)
                #expect(refused["isError"] == true && Self.text(refused).hasPrefix(start), "\(members)")
            }
            #expect(await relay.onLoop { $0.production.pushes }.isEmpty)
            let most = String(repeating: "\"", count: Bounds.questionBytesMax)
            let choices = (1...Bounds.choicesMax).map { number in
                JSON.Value.string(String(repeating: "\\", count: Bounds.choiceBytesMax - 1) + "\(number)")
            }
            let session = JSON.Value.string(String(repeating: "s", count: Bounds.identifierBytesMax))
            let long = await Self.ask(
                relay,
                ["question": .string(most), "choices": .array(choices), "timeout": 1, "sessionID": session])
            #expect(long["structuredContent"]?["status"] == "waiting")
            _ = await relay.onLoop { $0.production.script = { _ in .rejected(400, "PayloadTooLarge") } }
            let unreached = await Self.ask(relay)
            #expect(unreached["isError"] == true && Self.text(unreached).contains("reached no device"))
        }
        try await RelayFixture.with { relay in
            let nobody = await Self.ask(relay)
            #expect(nobody["isError"] == true && Self.text(nobody).contains("No devices are registered"))
        }
    }
}
