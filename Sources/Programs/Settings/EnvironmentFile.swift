/// Parses files of environment variables like systemd's `EnvironmentFile=` (systemd.exec(5)).
///
/// A pure function of the text. It mirrors systemd's parser byte by byte, so that commands and the unit read
/// the same values from one file.
package enum EnvironmentFile {
    /// The variables of a file; if a name is repeated, the last value counts.
    package static func parse(_ text: String) -> [String: String] {
        var parser = Parser()
        for byte in text.utf8 { parser.take(byte) }
        return parser.finish()
    }

    private struct Parser {
        private enum State {
            case beforeName, name, beforeValue, value, valueEscape
            case singleQuoted, doubleQuoted, doubleQuotedEscape
            case comment, commentEscape
        }

        private var state = State.beforeName
        private var name: [UInt8] = []
        private var value: [UInt8] = []
        /// The length of the value without trailing blanks that were neither quoted nor escaped.
        private var kept = 0
        private var variables: [String: String] = [:]

        mutating func take(_ byte: UInt8) {
            switch state {
            case .beforeName: beginLine(byte)
            case .name: takeName(byte)
            case .beforeValue: beginValue(byte)
            case .value: takeValue(byte)
            case .valueEscape:
                state = .value
                if !Self.isLineEnd(byte) { keep(byte) }
            case .singleQuoted:
                if byte == UInt8(ascii: "'") { state = .beforeValue } else { keep(byte) }
            case .doubleQuoted:
                switch byte {
                case UInt8(ascii: "\""): state = .beforeValue
                case UInt8(ascii: "\\"): state = .doubleQuotedEscape
                default: keep(byte)
                }
            case .doubleQuotedEscape:
                state = .doubleQuoted
                if byte == UInt8(ascii: "\n") { return }
                if !"\"\\`$".utf8.contains(byte) { keep(UInt8(ascii: "\\")) }
                keep(byte)
            case .comment:
                if byte == UInt8(ascii: "\\") {
                    state = .commentEscape
                } else if Self.isLineEnd(byte) {
                    state = .beforeName
                }
            case .commentEscape:
                state = .comment
            }
        }

        mutating func finish() -> [String: String] {
            switch state {
            case .beforeValue, .value, .valueEscape, .singleQuoted, .doubleQuoted, .doubleQuotedEscape:
                endVariable()
            case .beforeName, .name, .comment, .commentEscape: break
            }
            return variables
        }

        private mutating func beginLine(_ byte: UInt8) {
            if byte == UInt8(ascii: "#") || byte == UInt8(ascii: ";") {
                state = .comment
            } else if !Self.isBlank(byte) {
                name = [byte]
                state = .name
            }
        }

        private mutating func takeName(_ byte: UInt8) {
            if Self.isLineEnd(byte) {
                state = .beforeName
            } else if byte == UInt8(ascii: "=") {
                (value, kept) = ([], 0)
                state = .beforeValue
            } else {
                name.append(byte)
            }
        }

        private mutating func beginValue(_ byte: UInt8) {
            switch byte {
            case _ where Self.isLineEnd(byte): endVariable()
            case UInt8(ascii: "'"): state = .singleQuoted
            case UInt8(ascii: "\""): state = .doubleQuoted
            case UInt8(ascii: "\\"): state = .valueEscape
            case _ where Self.isBlank(byte): break
            default:
                keep(byte)
                state = .value
            }
        }

        private mutating func takeValue(_ byte: UInt8) {
            switch byte {
            case _ where Self.isLineEnd(byte): endVariable()
            case UInt8(ascii: "\\"):
                // Preceding blanks are no longer at the end of the value.
                kept = value.count
                state = .valueEscape
            case _ where Self.isBlank(byte): value.append(byte)
            default: keep(byte)
            }
        }

        /// Appends a byte that isn't a trailing blank.
        private mutating func keep(_ byte: UInt8) {
            value.append(byte)
            kept = value.count
        }

        private mutating func endVariable() {
            while let last = name.last, Self.isBlank(last) { name.removeLast() }
            variables[String(decoding: name, as: UTF8.self)] = String(
                decoding: value[..<kept], as: UTF8.self)
            state = .beforeName
        }

        private static func isLineEnd(_ byte: UInt8) -> Bool {
            byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
        }

        private static func isBlank(_ byte: UInt8) -> Bool {
            isLineEnd(byte) || byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
        }
    }
}
