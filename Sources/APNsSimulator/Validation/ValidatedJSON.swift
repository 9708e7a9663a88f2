import Glibc
package import JSON

/// Navigates JSON text that is known to be valid, without building values.
///
/// For a payload that is read only once, this is several times cheaper than parsing.
package struct ValidatedJSON {
    private let bytes: [UInt8]

    /// The type of a value, known from its first byte.
    package enum Kind: String, Sendable {
        case object = "an object"
        case array = "an array"
        case string = "a string"
        case number = "a number"
        case bool = "true or false"
        case null = "null"
    }

    /// The range of a member's name, without quotes, and the start of its value.
    package struct Member: Sendable {
        package let name: Range<Int>
        package let value: Int
    }

    /// A position in an object or array: before the first element, or at an element.
    package struct Cursor: Sendable {
        fileprivate var offset: Int
        /// Whether `offset` is the start of an element rather than of the object or array.
        fileprivate var isAtElement = false

        /// The position before the first element of the object or array at an offset.
        package init(before start: Int) { offset = start }
    }

    /// Wraps valid JSON text.
    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The start of the outermost value.
    package var start: Int { skipSpace(from: 0) }

    /// The type of the value at an offset.
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

    /// Advances to the next member of an object; `nil` after the last.
    package func nextMember(_ cursor: inout Cursor) -> Member? {
        guard let nameStart = nextElement(&cursor) else { return nil }
        let nameEnd = end(ofStringAt: nameStart)
        let value = skipSpace(from: skipSpace(from: nameEnd) + 1)
        cursor.offset = value
        return Member(name: (nameStart + 1)..<(nameEnd - 1), value: value)
    }

    /// Advances to the next item of an array and returns its start; `nil` after the last.
    package func nextItem(_ cursor: inout Cursor) -> Int? { nextElement(&cursor) }

    /// Whether the string content in a range, unescaped, equals the text.
    package func string(in range: Range<Int>, equals text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard range.count >= count else { return false }
        guard range.count == count else { return unescaped(range) == "\(text)" }
        return unsafe bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return false }
            return unsafe memcmp(base + range.lowerBound, text.utf8Start, count) == 0
        }
    }

    /// Whether the value at an offset equals this string.
    package func isString(_ text: StaticString, at offset: Int) -> Bool {
        kind(at: offset) == .string && string(in: (offset + 1)..<(end(ofStringAt: offset) - 1), equals: text)
    }

    /// Parses the value at an offset.
    package func value(at offset: Int) -> JSON.Value? {
        try? JSON.parse(Array(bytes[offset..<end(ofValueAt: offset)]), maxBytes: bytes.count)
    }

    /// Whether the string content in a range has escapes.
    package func isEscaped(_ range: Range<Int>) -> Bool {
        unsafe bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return false }
            return unsafe memchr(base + range.lowerBound, 0x5C, range.count) != nil
        }
    }

    private func unescaped(_ range: Range<Int>) -> String? {
        isEscaped(range) ? value(at: range.lowerBound - 1)?.string : nil
    }

    /// Advances to the next element and returns its start; `nil` at the closing bracket.
    private func nextElement(_ cursor: inout Cursor) -> Int? {
        let separator = cursor.isAtElement ? skipSpace(from: end(ofValueAt: cursor.offset)) : cursor.offset
        guard !Self.closes(bytes[separator]) else { return nil }
        let start = skipSpace(from: separator + 1)
        guard !Self.closes(bytes[start]) else { return nil }
        cursor.offset = start
        cursor.isAtElement = true
        return start
    }

    private func skipSpace(from offset: Int) -> Int {
        var offset = offset
        while offset < bytes.count, bytes[offset] <= UInt8(ascii: " ") { offset += 1 }
        return offset
    }

    /// Finds the end with memchr, because payloads consist mostly of strings.
    private func end(ofStringAt start: Int) -> Int {
        unsafe bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return bytes.count }
            var offset = start + 1
            while let found = unsafe memchr(base + offset, 0x22, bytes.count - offset) {
                let quote = unsafe UnsafeRawPointer(found) - base
                var backslashes = 0
                while unsafe bytes[quote - 1 - backslashes] == UInt8(ascii: "\\") { backslashes += 1 }
                if backslashes.isMultiple(of: 2) { return quote + 1 }
                offset = quote + 1
            }
            return bytes.count
        }
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

    private static func closes(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
    }

    private static func endsWord(_ byte: UInt8) -> Bool {
        byte <= UInt8(ascii: " ") || byte == UInt8(ascii: ",") || closes(byte)
    }
}
