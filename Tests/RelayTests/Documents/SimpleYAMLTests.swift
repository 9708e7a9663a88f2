import JSON
import Testing

@Suite("The reader of YAML", .timeLimit(.minutes(1)))
struct SimpleYAMLTests {
    @Test(
        "It refuses what it doesn't understand",
        arguments: [
            "a: b: c", "a: |", "a:", "a: {b: c}", "a: 1\na: 2", "a:\n  b: 1\n c: 2", "- a\nb: 1", "a: 'b",
            "a: &x 1",
            "a: \"\\n\"", "a: b # c",
        ])
    func strictReader(text: String) {
        #expect(throws: SimpleYAML.Fault.self) { try SimpleYAML.parse(text) }
    }

    @Test("It reads what the document is written in")
    func reader() throws {
        let text = """
            # comment
            a: 1
            'b c': true
            d:
              - e: x y
                f: [g, 2]
              - "h: i"

            j: '^[a]{1,2}$'
            k: []
            l: {}
            """
        #expect(
            try SimpleYAML.parse(text) == [
                "a": 1, "b c": true, "d": [["e": "x y", "f": ["g", 2]], "h: i"], "j": "^[a]{1,2}$", "k": [],
                "l": [:],
            ])
    }
}
