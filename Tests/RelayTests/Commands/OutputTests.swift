import Programs
import Testing

@testable import Relay

@Suite("What commands print", .timeLimit(.minutes(2)))
struct OutputTests {
    @Test(
        "A text is as wide as a terminal shows it",
        arguments: [
            ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("日本", 4), ("한", 2), ("🦊", 2), ("👩‍👩‍👧", 2), ("❤️", 2),
            ("ｱ", 1),
            ("Ａ", 2), ("…", 1),
        ])
    func width(text: String, width: Int) {
        #expect(TerminalText.width(text) == width)
    }

    @Test("What is too wide is cut between characters, and an ellipsis says so")
    func cut() {
        #expect(TerminalText.cut("abcdef", to: 6) == "abcdef")
        #expect(TerminalText.cut("abcdefg", to: 6) == "abcde…")
        #expect(TerminalText.cut("日本語", to: 5) == "日本…")
        #expect(TerminalText.cut("日本語", to: 4) == "日…")
    }

    @Test("Nothing from outside can give the terminal orders")
    func safe() {
        #expect(TerminalText.safe("Ada's phone 👩‍👧") == "Ada's phone 👩‍👧")
        #expect(TerminalText.safe("a\u{1B}[2Jb\nc\td\u{202E}e") == "a\\u{1B}[2Jb\\nc\\td\\u{202E}e")
        #expect(TerminalText.safe("a\u{9B}b\u{2028}") == "a\\u{009B}b\\u{2028}")
    }

    @Test("Columns are as wide as their widest text, and lines have no blanks at their end")
    func table() {
        var table = TextTable([
            .init(heading: "NAME", widthMax: 8), .init(heading: "N", isNumber: true), .init(heading: "LAST"),
        ])
        table.add(["日本", "5", "x"])
        table.add(["a longer name", "1234", .init("", .bad)])
        #expect(
            table.text(.plain) == """
                NAME         N  LAST
                日本         5  x
                a longe…  1234  -

                """)
    }

    @Test("Rows that come later stand under the heading that was printed first")
    func laterRows() {
        let columns: [TextTable.Column] = [.init(heading: "A", widthMin: 4), .init(heading: "B")]
        #expect(TextTable(columns).text(.plain) == "A     B\n")
        var later = TextTable(columns)
        later.add(["x", "y"])
        #expect(later.rowsText(.plain) == "x     y\n")
    }

    @Test("Colours are for terminals, and neither NO_COLOR nor a dumb terminal gets any")
    func colours() {
        let terminal = OutputStyle(isTerminal: true, [:])
        #expect(terminal.paint("sent", .good) == "\u{1B}[32msent\u{1B}[0m")
        #expect(terminal.paint("sent", nil) == "sent")
        #expect(OutputStyle(isTerminal: true, ["NO_COLOR": ""]).isColoured)
        #expect(!OutputStyle(isTerminal: true, ["NO_COLOR": "1"]).isColoured)
        #expect(!OutputStyle(isTerminal: true, ["TERM": "dumb"]).isColoured)
        #expect(!OutputStyle(isTerminal: false, [:]).isColoured)
        var table = TextTable([.init(heading: "A"), .init(heading: "B")])
        table.add([.init("x", .bad), "y"])
        #expect(table.text(terminal) == "\u{1B}[1mA\u{1B}[0m  \u{1B}[1mB\u{1B}[0m\n\u{1B}[31mx\u{1B}[0m  y\n")
    }
}
