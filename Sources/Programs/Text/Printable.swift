/// Makes untrusted text safe to print: the single implementation for the log, messages and results of all three
/// programs.
///
/// A terminal obeys control characters, and characters that change the text direction hide adjacent text.
package enum Printable {
    /// The text on one line, with each character that a terminal would obey written as in Swift: `\n`, `\u{9B}`.
    ///
    /// Joiners within emoji are kept.
    package static func line(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isObeyed) else { return text }
        var safe = ""
        for scalar in text.unicodeScalars {
            if isObeyed(scalar) {
                safe += scalar.escaped(asASCII: true)
            } else {
                safe.unicodeScalars.append(scalar)
            }
        }
        return safe
    }

    /// The text with each of its lines made safe.
    package static func lines(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line(String($0)) }
            .joined(separator: "\n")
    }

    /// JSON with the same meaning, in which characters that a terminal would obey are escaped, such as `\u009b`.
    ///
    /// ASCII control characters are kept: within JSON they are already escaped, and outside of it they are the
    /// program's own line breaks and colours.
    package static func json(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.contains(where: { $0 >= 0x7F }) else { return bytes }
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.unicodeScalars.contains(where: { $0.value >= 0x7F && isObeyed($0) }) else { return bytes }
        var safe: [UInt8] = []
        for scalar in text.unicodeScalars {
            if scalar.value >= 0x7F, isObeyed(scalar) {
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    safe += Array("\\u".utf8) + Array(repeating: 0x30, count: 4 - digits.utf8.count)
                    safe += Array(digits.utf8)
                }
            } else {
                safe += Array(String(scalar).utf8)
            }
        }
        return safe
    }

    /// Whether a character could move a terminal's cursor, change its state or hide adjacent text.
    package static func isObeyed(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
        return switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse: true
        case .format: scalar != joiner
        default: false
        }
    }

    private static let joiner: Unicode.Scalar = "\u{200D}"
}
