/// Makes untrusted text safe for a terminal.
package enum TerminalText {
    /// Escapes control and format characters that a terminal would interpret.
    package static func safe(_ text: String) -> String { Printable.line(text) }

    /// The text's width in terminal cells: two for a wide character, none for a combining one.
    package static func width(_ text: String) -> Int {
        text.utf8.allSatisfy { $0 < 0x80 } ? text.utf8.count : text.reduce(0) { $0 + width(of: $1) }
    }

    /// The text, or its beginning and an ellipsis if it exceeds the width.
    package static func cut(_ text: String, to width: Int) -> String {
        guard self.width(text) > width else { return text }
        var kept = ""
        var room = width - 1
        for character in text {
            room -= self.width(of: character)
            guard room >= 0 else { break }
            kept.append(character)
        }
        return kept + "…"
    }

    /// Wraps text at spaces or at another separator.
    package static func wrapped(_ text: String, width: Int, at separator: Character = " ") -> [String] {
        var lines: [String] = []
        for word in text.split(separator: separator) {
            if let last = lines.last, last.count + 1 + word.count <= width {
                lines[lines.count - 1] = last + " " + word
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }

    /// A character is as wide as its first scalar; an emoji takes two cells.
    private static func width(of character: Character) -> Int {
        guard let first = character.unicodeScalars.first else { return 0 }
        let isEmoji =
            first.properties.isEmojiPresentation
            || character.unicodeScalars.contains("\u{FE0F}") && first.properties.isEmoji
        if isEmoji || isWide(first.value) { return 2 }
        switch first.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: return 1
        }
    }

    /// East Asian Wide and Fullwidth (Unicode Annex 11), by blocks.
    private static func isWide(_ value: UInt32) -> Bool {
        switch value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF,
            0xA000...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x1B000...0x1B2FF, 0x20000...0x3FFFD:
            true
        default: false
        }
    }
}
