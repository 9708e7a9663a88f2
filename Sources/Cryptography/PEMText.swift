/// Finds PEM text in a setting's value.
package enum PEMText {
    private static let begin = Array("-----BEGIN ".utf8)

    /// The PEM text, given as plain PEM, on one line with `\n` for line breaks, or in base64; `nil` for anything else.
    package static func find(in text: [UInt8]) -> [UInt8]? {
        if text.holds(begin) { return unescaped(text) }
        guard let decoded = Base64.decode(text), decoded.holds(begin) else { return nil }
        return unescaped(decoded)
    }

    /// Replaces `\n` with line feeds and drops `\r`, quotes, and spaces at the start of a line.
    private static func unescaped(_ text: [UInt8]) -> [UInt8] {
        var lines: [UInt8] = []
        lines.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            let byte = text[index]
            index += 1
            switch byte {
            case UInt8(ascii: "\\") where index < text.count && text[index] == UInt8(ascii: "n"):
                lines.append(UInt8(ascii: "\n"))
                index += 1
            case UInt8(ascii: "\\") where index < text.count && text[index] == UInt8(ascii: "r"): index += 1
            case UInt8(ascii: "\r"), UInt8(ascii: "\""), UInt8(ascii: "'"): break
            case UInt8(ascii: " "), UInt8(ascii: "\t"):
                if let last = lines.last, last != UInt8(ascii: "\n") { lines.append(byte) }
            default: lines.append(byte)
            }
        }
        return lines
    }
}

extension [UInt8] {
    /// Whether the bytes contain `part`.
    func holds(_ part: [UInt8]) -> Bool {
        guard part.count <= count else { return false }
        return (0...(count - part.count)).contains { self[$0...].starts(with: part) }
    }
}
