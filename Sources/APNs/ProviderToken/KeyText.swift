/// The text of a private key, which nothing that describes values shows.
///
/// It comes out only where `bytes` is written.
package struct KeyText: Sendable {
    /// The text as it was configured.
    let bytes: [UInt8]

    /// A key's text in UTF-8.
    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// A key's text.
    package init(_ text: String) { bytes = Array(text.utf8) }
}

extension KeyText: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Always the same word.
    package var description: String { "<private key>" }
    /// Always the same word.
    package var debugDescription: String { description }
    /// A mirror without children.
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

extension KeyText {
    private static let begin = Array("-----BEGIN ".utf8)

    /// The PEM text in whichever of its three forms it was configured: as it is, in one line with `\n` for
    /// its line ends, or in base64; `nil` where it is none of them.
    var pem: [UInt8]? {
        if bytes.holds(Self.begin) { return unescaped(bytes) }
        guard let decoded = Base64.decode(bytes), decoded.holds(Self.begin) else { return nil }
        return unescaped(decoded)
    }

    /// Turns `\n` into line feeds and drops what PEM doesn't have: `\r`, quotes, and spaces at the start of a line.
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
    /// Whether some bytes occur in these.
    func holds(_ part: [UInt8]) -> Bool {
        guard part.count <= count else { return false }
        return (0...(count - part.count)).contains { self[$0...].starts(with: part) }
    }
}

extension KeyText: Equatable {
    /// Whether two texts are the same key, in whichever form each was configured.
    package static func == (left: KeyText, right: KeyText) -> Bool {
        (left.pem ?? left.bytes) == (right.pem ?? right.bytes)
    }
}
