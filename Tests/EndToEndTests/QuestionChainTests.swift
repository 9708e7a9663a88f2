import JSON
import PushSealing
import Testing

@Suite("Questions and forms of OpenCode, answered from the phone", .timeLimit(.minutes(5)))
struct QuestionChainTests {
    private static let settings = ["BRIDGE_ALLOW_REPLIES": "on"]

    private static func run(
        _ generation: Int, isPreview: Bool = false, _ body: (Chain, PairingSecret) async throws -> Void
    ) async throws {
        let key = PairingSecret()
        try await Chain.run(generation: generation, isPreview: isPreview, settings, key: key) { chain in
            try await chain.does("session", ["id": "ses_1", "title": "Fix auth bug"])
            try await chain.does("begin", ["id": "ses_1"])
            try await body(chain, key)
        }
    }

    private static func answers(_ answers: [[String]]) -> SealedReply {
        SealedReply(action: "answer", answers: answers, sentAt: 1)
    }

    @Test(
        "a question is answered, also with a reply that came before a restart, or cancelled with a message",
        arguments: [(1, false), (2, false), (2, true)])
    func questions(generation: Int, isPreview: Bool) async throws {
        try await Self.run(generation, isPreview: isPreview) { chain, key in
            let first = try await chain.asksQuestions("que_1", number: 1, key: key)
            let question = try #require(first.request?.questions.first)
            #expect(question.text == "Which?" && question.options.map(\.label) == ["Postgres", "SQLite"])
            #expect(first.properties.actions == ["reject"] && first.properties.category == nil)
            #expect(try await chain.bridge.stop() == 0)
            let sealed = try Self.answers([["SQLite"]]).sealed(for: first.id, with: SealedReply.Key(key))
            #expect(try await chain.replies(["sealed": .string(sealed)], to: first.id)["ok"] == true)
            try await chain.restartBridge()
            let expected: JSON.Value =
                generation == 1
                ? ["request": "que_1", "answers": [["SQLite"]]]
                : ["request": "que_1", "answer": ["0": "sqlite"]]
            #expect(try await chain.given(atLeast: 1) == [expected])

            let second = try await chain.asksQuestions("que_2", number: 2, key: key)
            let no = SealedReply(action: "reject", text: "Neither.", sentAt: 1)
            #expect(try await chain.fate(of: second.id, key: key, reply: no) == "taken")
            let rejected = try await chain.given(atLeast: 2)[1]
            #expect(rejected["rejected"] == true)
            // 1.x and previews of 2.x have no field for the message.
            #expect(rejected["message"]?.string == (generation == 2 && !isPreview ? "Neither." : nil))

            let third = try await chain.asksQuestions("que_3", number: 3, key: key)
            let fate = try await chain.fate(
                of: third.id, key: key, reply: Self.answers([["MySQL", "SQLite"]]))
            #expect(fate == "refused not_offered")
            #expect(try await chain.given(atLeast: 2).count == 2)
        }
    }

    @Test("several choices and own words answer the questions of 1.x")
    func several() async throws {
        try await Self.run(1) { chain, key in
            let options: JSON.Value = [
                ["label": "Lint", "description": "fast"], ["label": "Test", "description": "slow"],
            ]
            let asked = try await chain.asksQuestions(
                "que_1",
                [
                    ["question": "Which checks?", "header": "Checks", "options": options, "multiple": true],
                    ["question": "Which name?", "header": "Name", "options": []],
                    ["question": "One?", "header": "One", "options": options, "custom": false],
                ], number: 1, key: key)
            let questions = try #require(asked.request?.questions)
            #expect(questions.map(\.isMultiple) == [true, false, false])
            #expect(questions.map(\.allowsText) == [true, true, false])
            #expect(questions.map(\.heading) == ["Checks", "Name", "One"])
            let reply = Self.answers([["Test", "Lint", "and by hand"], ["relay"], ["Lint"]])
            #expect(try await chain.fate(of: asked.id, key: key, reply: reply) == "taken")
            let given: JSON.Value = [
                "request": "que_1", "answers": [["Test", "Lint", "and by hand"], ["relay"], ["Lint"]],
            ]
            #expect(try await chain.given(atLeast: 1) == [given])
        }
    }

    @Test("a form gets values of its fields' types, and the phone learns why it refuses others")
    func forms() async throws {
        let options: JSON.Value = [["value": "l", "label": "Lint"], ["value": "t", "label": "Test"]]
        let form: JSON.Value = [
            ["key": "checks", "title": "Checks", "type": "multiselect", "options": options, "custom": true],
            ["key": "count", "title": "How many?", "type": "integer", "minimum": 2, "required": true],
            ["key": "now", "title": "Now?", "type": "boolean", "required": true],
            ["key": "note", "type": "string"],
        ]
        try await Self.run(2) { chain, key in
            let asked = try await chain.asksQuestions("frm_1", form, number: 1, key: key)
            let questions = try #require(asked.request?.questions)
            #expect(
                questions.map(\.text) == [
                    "Checks", "How many?\n(a whole number, at least 2)", "Now?", "note",
                ])
            #expect(questions.map(\.isOptional) == [true, false, false, true])
            let reply = Self.answers([["Test", "by hand"], ["12"], ["No"], []])
            #expect(try await chain.fate(of: asked.id, key: key, reply: reply) == "taken")
            let answer: JSON.Value = ["checks": ["t", "by hand"], "count": 12, "now": false]
            #expect(try await chain.given(atLeast: 1) == [["request": "frm_1", "answer": answer]])

            // A value of the wrong type, a value that the server refuses, and a missing value.
            let refused = [
                ([[], ["many"], ["Yes"], []], "refused invalid_answer"),
                ([[], ["1"], ["Yes"], []], "refused invalid_answer"),
                ([[], ["2"], [], []], "refused not_offered"),
            ]
            for (number, (answers, fate)) in refused.enumerated() {
                let request = "frm_\(number + 2)"
                let next = try await chain.asksQuestions(request, form, number: number + 2, key: key)
                #expect(try await chain.fate(of: next.id, key: key, reply: Self.answers(answers)) == fate)
            }
            #expect(try await chain.given(atLeast: 1).count == 1)
        }
    }

    @Test(
        "answers learn that the question was answered elsewhere, or that its run has ended",
        arguments: [1, 2])
    func over(generation: Int) async throws {
        try await Self.run(generation) { chain, key in
            let first = try await chain.asksQuestions("que_1", number: 1, key: key)
            try await chain.does("answer", ["request": "que_1"])
            let reply = Self.answers([["SQLite"]])
            #expect(try await chain.fate(of: first.id, key: key, reply: reply) == "answered_elsewhere")
            let second = try await chain.asksQuestions("que_2", number: 2, key: key)
            try await chain.does("end", ["id": "ses_1", "outcome": "aborted"])
            try await chain.closed(second.id)
            #expect(try await chain.fate(of: second.id, key: key, reply: reply) == "too_late")
            #expect(try await chain.given(atLeast: 0) == [])
        }
    }

    @Test("a form that the phone can't answer or show whole rings without an offer")
    func unanswerable() async throws {
        try await Self.run(2) { chain, key in
            let long = String(repeating: "No sentence of this question may be missing. ", count: 100)
            let forms: [JSON.Value] = [
                [["key": "a", "type": "new"]], [["key": "a", "type": "string", "title": .string(long)]],
            ]
            for (number, form) in forms.enumerated() {
                let asked = try await chain.asksQuestions(
                    "frm_\(number)", form, number: number + 1, key: key)
                #expect(asked.request == nil && asked.properties.actions == [])
            }
        }
    }
}
