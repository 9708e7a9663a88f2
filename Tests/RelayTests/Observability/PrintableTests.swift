import JSON
import Programs
import Testing

@Suite("Texts of others", .timeLimit(.minutes(1)))
struct PrintableTests {
    private static let obeyed: [Unicode.Scalar] = [
        "\u{0}", "\u{7}", "\n", "\r", "\u{1B}", "\u{7F}", "\u{85}", "\u{9B}", "\u{AD}", "\u{200B}",
        "\u{200E}",
        "\u{2028}", "\u{2029}", "\u{202E}", "\u{2066}", "\u{2069}", "\u{FEFF}", "\u{E000}", "\u{E0001}",
        "\u{10FFFF}",
    ]

    @Test("nothing that a terminal obeys is printed, on one line, and all else is kept")
    func line() {
        for scalar in Self.obeyed {
            let safe = Printable.line("a\(scalar)b")
            #expect(safe.hasPrefix("a\\") && safe.hasSuffix("b") && !safe.unicodeScalars.contains(scalar))
            #expect(Printable.line(safe) == safe)
        }
        for text in ["", "é ü", "👩‍💻", "日本語", "مرحبا", "a\\n"] { #expect(Printable.line(text) == text) }
        #expect(Printable.lines("a\u{1B}b\nc\r") == "a\\u{1B}b\nc\\r")
    }

    @Test("JSON keeps its meaning, and has nothing that a terminal obeys")
    func json() throws {
        for scalar in Self.obeyed {
            let value: JSON.Value = ["k\(scalar)": .string("👩‍💻 \(scalar) é")]
            let safe = Printable.json(value.encoded())
            #expect(try JSON.parse(safe, maxBytes: 1_000) == value)
            #expect(!String(decoding: safe, as: UTF8.self).unicodeScalars.contains(scalar))
        }
    }
}
