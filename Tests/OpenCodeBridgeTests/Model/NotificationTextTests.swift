import Testing

@testable import OpenCodeBridge

@Suite("Texts of notifications", .timeLimit(.minutes(2)))
struct NotificationTextTests {
    @Test("a title says what is wanted, once")
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

    @Test("a text is cut between characters, never within an emoji")
    func emoji() {
        let family = "👩‍👩‍👧‍👦"
        let body = NotificationText.body(.complete, text: String(repeating: family, count: 141))
        #expect(body.hasSuffix("…"))
        #expect(body.dropLast().allSatisfy { String($0) == family })
        // 25 bytes each: the size limit is met before the character limit.
        #expect(body.utf8.count <= Bounds.bodyBytesMax + 3)
        let flags = NotificationText.body(.complete, text: String(repeating: "🇩🇪", count: 200))
        #expect(flags.dropLast().allSatisfy { $0 == "🇩🇪" })
        #expect(flags.dropLast().count == 128)
        // One character of any number of scalars doesn't pass the limit.
        let tower = "x" + String(repeating: "\u{301}", count: 100_000)
        #expect(NotificationText.body(.complete, text: tower).utf8.count <= Bounds.bodyBytesMax + 3)
    }
}
