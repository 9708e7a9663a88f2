/// The text of a private key, hidden from descriptions and mirrors.
///
/// Only `bytes` gives access to it.
package struct KeyText: Sendable {
    /// The text as configured.
    let bytes: [UInt8]

    /// Creates a key text from UTF-8.
    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Creates a key text.
    package init(_ text: String) { bytes = Array(text.utf8) }
}

extension KeyText: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A constant placeholder.
    package var description: String { "<private key>" }
    /// A constant placeholder.
    package var debugDescription: String { description }
    /// A mirror without children.
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

extension KeyText {
    private static let begin = Array("-----BEGIN ".utf8)

    /// The PEM text, decoded from one of three forms: plain PEM, one line with `\n` for line ends, or base64; `nil` for
    /// anything else.
    var pem: [UInt8]? {
        if bytes.holds(Self.begin) { return unescaped(bytes) }
        guard let decoded = Base64.decode(bytes), decoded.holds(Self.begin) else { return nil }
        return unescaped(decoded)
    }

    /// Replaces `\n` with line feeds and drops `\r`, quotes, and spaces at the start of a line.
    private func unescaped(_ text: [UInt8]) -> [UInt8] {
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

extension KeyText: Equatable {
    /// Whether two texts are the same key, regardless of their forms.
    package static func == (left: KeyText, right: KeyText) -> Bool {
        (left.pem ?? left.bytes) == (right.pem ?? right.bytes)
    }
}
