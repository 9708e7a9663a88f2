import JSON
import PushSealing
import Testing

@testable import AgentBridge

@Suite("Forms that phones can answer", .timeLimit(.minutes(2)))
struct FormFieldTests {
    private func read(_ fields: JSON.Value) -> [FormField]? { FormField.all(of: ["fields": fields]) }

    @Test("answers become values of the fields' types")
    func values() throws {
        let options: JSON.Value = [
            ["value": "pg", "label": "Postgres"], ["value": "lite", "label": "SQLite"],
        ]
        let fields = try #require(
            read([
                ["key": "db", "title": "Which?", "type": "string", "options": options, "required": true],
                ["key": "checks", "type": "multiselect", "options": options, "custom": true],
                ["key": "n", "type": "integer"], ["key": "x", "type": "number"],
                ["key": "ok", "type": "boolean"],
                ["key": "h", "type": "external", "hidden": true],
            ]))
        #expect(
            fields.map(\.question.text) == ["Which?", "checks", "n\n(a whole number)", "x\n(a number)", "ok"])
        #expect(fields.map(\.question.isOptional) == [false, true, true, true, true])
        #expect(fields.map(\.question.isMultiple) == [false, true, false, false, false])
        #expect(fields.map(\.question.allowsText) == [false, true, true, true, false])
        #expect(
            fields[0].value(["SQLite"]) == "lite" && fields[1].value(["Postgres", "own"]) == ["pg", "own"])
        #expect(fields[2].value([" 12 "]) == 12 && fields[2].value(["1.5"]) == nil as JSON.Value?)
        #expect(fields[3].value(["1.5"])?.double == 1.5 && fields[3].value(["many"]) == nil as JSON.Value?)
        #expect(fields[4].value(["No"]) == false)
    }

    @Test("a form with a field that the phone can't answer isn't offered")
    func unanswerable() {
        let wrong: [JSON.Value] = [
            ["key": "u", "type": "external"],
            ["key": "h", "type": "string", "hidden": true, "required": true],
            ["key": "w", "type": "string", "when": [["key": "a", "op": "eq", "value": 1]]],
            ["type": "string"],
            ["key": "w", "type": "string", "when": ["key": "a", "op": "eq", "value": "b"]],
            ["key": "o", "type": "string", "options": [["value": "a"]]],
            [
                "key": "o", "type": "string",
                "options": [["value": "a", "label": "A"], ["value": "b", "label": "A"]],
            ],
            ["key": "a", "type": "string"], ["key": "b", "type": "new"],
            ["key": "t", "type": "string", "title": "a\u{202E}b"],
        ]
        for field in wrong {
            #expect(read([["key": "a", "type": "string"], field]) == nil, "\(field)")
        }
        #expect(read([]) == nil)
    }
}
