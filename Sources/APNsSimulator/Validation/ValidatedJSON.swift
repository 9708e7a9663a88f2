package import JSON

/// Walks through JSON text that is known to be valid, without building values.
///
/// A push's payload is looked at once and thrown away: this is several times cheaper than parsing it.
package struct ValidatedJSON {
    private let bytes: [UInt8]

    /// A kind of value, told by its first byte.
    package enum Kind: String, Sendable {
        case object = "an object"
        case array = "an array"
        case string = "a string"
        case number = "a number"
        case bool = "true or false"
        case null = "null"
    }

    /// Where a member's name (without quotes) and its value stand.
    package struct Member: Sendable {
        package let name: Range<Int>
        package let value: Range<Int>
    }

    /// Wraps valid JSON text.
    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Where the outermost value begins.
    package var start: Int { skipSpace(from: 0) }

    /// What kind of value begins at an offset.
    package func kind(at offset: Int) -> Kind {
        switch bytes[offset] {
        case UInt8(ascii: "{"): .object
        case UInt8(ascii: "["): .array
        case UInt8(ascii: "\""): .string
        case UInt8(ascii: "t"), UInt8(ascii: "f"): .bool
        case UInt8(ascii: "n"): .null
        default: .number
        }
    }

    /// The member that follows in an object.
    ///
    /// - Parameter position: Begin with the offset of the object's bracket; it is moved behind the member.
    package func nextMember(_ position: inout Int) -> Member? {
        guard let nameStart = nextElement(&position) else { return nil }
        let nameEnd = end(ofStringAt: nameStart)
        let colon = skipSpace(from: nameEnd)
        let valueStart = skipSpace(from: colon + 1)
        position = end(ofValueAt: valueStart)
        return Member(name: (nameStart + 1)..<(nameEnd - 1), value: valueStart..<position)
    }

    /// The element that follows in an array, see ``nextMember(_:)``.
    package func nextItem(_ position: inout Int) -> Range<Int>? {
        guard let start = nextElement(&position) else { return nil }
        position = end(ofValueAt: start)
        return start..<position
    }

    /// Whether the string content in a range, escapes resolved, is this text.
    package func string(in range: Range<Int>, equals text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard range.count == count else { return range.count > count && unescaped(range) == "\(text)" }
        let start = unsafe text.utf8Start
        for offset in 0..<count where unsafe bytes[range.lowerBound + offset] != start[offset] {
            return false
        }
        return true
    }

    /// The value in a range, read whole.
    package func value(in range: Range<Int>) -> JSON.Value? {
        try? JSON.parse(Array(bytes[range]), maxBytes: range.count)
    }

    /// Whether the string content in a range holds escapes.
    package func isEscaped(_ range: Range<Int>) -> Bool { bytes[range].contains(UInt8(ascii: "\\")) }

    private func unescaped(_ range: Range<Int>) -> String? {
        guard isEscaped(range) else { return nil }
        return value(in: (range.lowerBound - 1)..<(range.upperBound + 1))?.string
    }

    /// Steps over the bracket or the comma at `position`; `nil` at the closing bracket.
    private func nextElement(_ position: inout Int) -> Int? {
        let separator = skipSpace(from: position)
        switch bytes[separator] {
        case UInt8(ascii: "}"), UInt8(ascii: "]"): return nil
        default: break
        }
        let start = skipSpace(from: separator + 1)
        switch bytes[start] {
        case UInt8(ascii: "}"), UInt8(ascii: "]"): return nil
        default: return start
        }
    }

    private func skipSpace(from offset: Int) -> Int {
        var offset = offset
        while offset < bytes.count, bytes[offset] <= UInt8(ascii: " ") { offset += 1 }
        return offset
    }

    private func end(ofStringAt start: Int) -> Int {
        var offset = start + 1
        while bytes[offset] != UInt8(ascii: "\"") { offset += bytes[offset] == UInt8(ascii: "\\") ? 2 : 1 }
        return offset + 1
    }

    private func end(ofValueAt start: Int) -> Int {
        switch kind(at: start) {
        case .string: return end(ofStringAt: start)
        case .object, .array: return end(ofContainerAt: start)
        case .number, .bool, .null:
            var offset = start
            while offset < bytes.count, !Self.endsWord(bytes[offset]) { offset += 1 }
            return offset
        }
    }

    private func end(ofContainerAt start: Int) -> Int {
        var depth = 0
        var offset = start
        while true {
            switch bytes[offset] {
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth == 0 { return offset + 1 }
            case UInt8(ascii: "\""):
                offset = end(ofStringAt: offset)
                continue
            default: break
            }
            offset += 1
        }
    }

    private static func endsWord(_ byte: UInt8) -> Bool {
        byte <= UInt8(ascii: " ") || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}")
            || byte == UInt8(ascii: "]")
    }
}
