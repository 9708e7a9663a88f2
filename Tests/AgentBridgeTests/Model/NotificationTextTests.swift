import Testing

@testable import AgentBridge

@Suite("Texts of notifications", .timeLimit(.minutes(2)))
struct NotificationTextTests {
    @Test("a title says once what the event is")
    func titles() {
        #expect(NotificationText.title(.complete, session: "Fix auth bug") == "Fix auth bug")
        #expect(NotificationText.title(.permission, session: "Fix it") == "Action Needed: Fix it")
        #expect(NotificationText.title(.error, session: "Error: Fix it") == "Error: Fix it")
        #expect(NotificationText.title(.error, session: nil) == "Session error")
        #expect(NotificationText.title(.complete, session: " \n") == "Session complete")
        #expect(NotificationText.title(.complete, session: "a\u{0}\u{1B}b\n\tc") == "ab c")
    }

    @Test("a body has at most 18 words and 140 characters, and falls back to a sentence")
    func bodies() {
        #expect(NotificationText.body(.complete, text: "  Done.\n\n It  works. ") == "Done. It works.")
        #expect(NotificationText.body(.complete, text: nil) == "Session complete.")
        #expect(NotificationText.body(.permission, text: "") == "OpenCode needs your permission decision.")
        #expect(NotificationText.body(.error, text: " ") == "OpenCode reported an error for your session.")
        let words = (1...19).map(String.init)
        #expect(
            NotificationText.body(.complete, text: words.prefix(18).joined(separator: " "))
                == words.prefix(18).joined(separator: " "))
        #expect(
            NotificationText.body(.complete, text: words.joined(separator: " "))
                == words.prefix(18).joined(separator: " ") + "…")
        let long = String(repeating: "é", count: 140)
        #expect(NotificationText.body(.complete, text: long) == long)
        #expect(NotificationText.body(.complete, text: long + "é") == long + "…")
    }

    @Test("invisible and direction-changing characters are removed, except in emoji and scripts")
    func invisible() {
        let hidden = "\u{202E}a\u{2066}b\u{200F}c\u{200B}d\u{FEFF}e\u{7}f\u{AD}g\u{E000}"
        #expect(NotificationText.body(.complete, text: hidden) == "abcdefg\u{E000}")
        #expect(NotificationText.title(.error, session: hidden) == "Error: abcdefg\u{E000}")
        for kept in ["می\u{200C}خواهم", "👩\u{200D}💻", "🏴\u{E0067}\u{E0062}\u{E007F}", "❤\u{FE0F}"] {
            #expect(NotificationText.body(.complete, text: kept) == kept)
        }
    }

    @Test(
        "an agent's text loses only its markup",
        arguments: [
            ("# Done\n\nThe **token** check", "Done\nThe token check"),
            ("- [x] one\n* two\n+ three\n> four", "one\ntwo\nthree\nfour"),
            ("1. first", "1. first"), ("a `b` c ``d``", "a b c d"), ("```swift\nlet x = 1\n```", "let x = 1"),
            ("***all*** and _some_ and ~~none~~", "all and some and none"),
            ("[docs](https://x.example/a) and ![logo](b.png)", "docs and logo"),
            ("snake_case_name, __init__.py, 2 * 3 * 4, a*b", "snake_case_name, init.py, 2 * 3 * 4, a*b"),
            ("| a | b |\n|---|---|\n| 1 | 2 |", "| a | b |\n| 1 | 2 |"), ("#1 is fixed", "#1 is fixed"),
            ("**open, [open](, _open `", "**open, [open](, _open "), ("---", ""), ("", ""),
        ])
    func markup(markdown: String, plain: String) {
        #expect(NotificationText.plain(markdown) == plain)
    }

    @Test("much markup takes little time")
    func muchMarkup() {
        for piece in ["*a ", "[", "_a_", "**a*", "`", "![a](", "~~"] {
            let text = NotificationText.plain(String(repeating: piece, count: 100_000))
            #expect(text.count <= Bounds.markdownCharactersMax)
        }
    }

    @Test("a text is cut between characters, never within an emoji")
    func emoji() {
        let family = "👩‍👩‍👧‍👦"
        let body = NotificationText.body(.complete, text: String(repeating: family, count: 141))
        #expect(body.hasSuffix("…"))
        #expect(body.dropLast().allSatisfy { String($0) == family })
        // 25 bytes each: the size limit is reached before the character limit.
        #expect(body.utf8.count <= Bounds.bodyBytesMax + 3)
        let flags = NotificationText.body(.complete, text: String(repeating: "🇩🇪", count: 200))
        #expect(flags.dropLast().allSatisfy { $0 == "🇩🇪" })
        #expect(flags.dropLast().count == 128)
        // Even a single character with very many scalars stays within the limit.
        let tower = "x" + String(repeating: "\u{301}", count: 100_000)
        #expect(NotificationText.body(.complete, text: tower).utf8.count <= Bounds.bodyBytesMax + 3)
    }
}
