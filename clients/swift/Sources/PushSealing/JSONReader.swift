extension JSONValue {
    /// Parses JSON in UTF-8; `nil` if it is invalid, nested deeper than 16 levels, or repeats a name in an object.
    ///
    /// Half of a surrogate pair, which JavaScript writes for text cut within an emoji, becomes U+FFFD.
    package init?(parsing bytes: [UInt8]) {
        // Decoding repairs invalid UTF-8, so the result would differ.
        guard Array(String(decoding: bytes, as: UTF8.self).utf8) == bytes else { return nil }
        var reader = JSONReader(bytes: bytes)
        guard let value = reader.value(depth: 0), reader.isAtEnd() else { return nil }
        self = value
    }

    /// Parses one JSON text; see ``init(parsing:)-([UInt8])``.
    package init?(parsing text: String) { self.init(parsing: Array(text.utf8)) }
}

/// Reads JSON from UTF-8 that is known to be valid.
private struct JSONReader {
    private static let depthMax = 16

    private let bytes: [UInt8]
    private var position = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func isAtEnd() -> Bool {
        skipSpace()
        return next == nil
    }

    mutating func value(depth: Int) -> JSONValue? {
        guard depth <= Self.depthMax else { return nil }
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return object(depth)
        case UInt8(ascii: "["): return array(depth)
        case UInt8(ascii: "\""): return string().map { .string($0) }
        case UInt8(ascii: "t"): return take("true") ? .bool(true) : nil
        case UInt8(ascii: "f"): return take("false") ? .bool(false) : nil
        case UInt8(ascii: "n"): return take("null") ? .null : nil
        default: return number()
        }
    }

    private mutating func object(_ depth: Int) -> JSONValue? {
        var members: [JSONValue.Member] = []
        var names: Set<String> = []
        let isWhole = list(end: "}") { reader in
            reader.skipSpace()
            guard let name = reader.string(), names.insert(name).inserted else { return false }
            reader.skipSpace()
            guard reader.take(":"), let value = reader.value(depth: depth + 1) else { return false }
            members.append(JSONValue.Member(name, value))
            return true
        }
        return isWhole ? .object(members) : nil
    }

    private mutating func array(_ depth: Int) -> JSONValue? {
        var values: [JSONValue] = []
        let isWhole = list(end: "]") { reader in
            guard let value = reader.value(depth: depth + 1) else { return false }
            values.append(value)
            return true
        }
        return isWhole ? .array(values) : nil
    }

    // Reads the elements between an opening character, which comes next, and the closing one.
    private mutating func list(end: String, _ element: (inout JSONReader) -> Bool) -> Bool {
        position += 1
        skipSpace()
        if take(end) { return true }
        while true {
            guard element(&self) else { return false }
            skipSpace()
            if take(end) { return true }
            guard take(",") else { return false }
        }
    }

    private mutating func string() -> String? {
        guard take("\"") else { return nil }
        var text: [UInt8] = []
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let scalar = escape() else { return nil }
                text += Array(String(scalar).utf8)
            case ..<0x20: return nil
            default: text.append(byte)
            }
        }
        return nil
    }

    private mutating func escape() -> Unicode.Scalar? {
        guard let byte = next else { return nil }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return unicodeEscape()
        default: return nil
        }
    }

    private mutating func unicodeEscape() -> Unicode.Scalar? {
        guard let first = codeUnit() else { return nil }
        if let scalar = Unicode.Scalar(first) { return scalar }
        let afterFirst = position
        if UTF16.isLeadSurrogate(first), take("\\u") {
            guard let second = codeUnit() else { return nil }
            if UTF16.isTrailSurrogate(second) {
                return Unicode.Scalar(0x10000 + (UInt32(first) - 0xD800) << 10 + UInt32(second) - 0xDC00)
            }
            position = afterFirst
        }
        return "\u{FFFD}"
    }

    private mutating func codeUnit() -> UInt16? {
        guard position + 4 <= bytes.count else { return nil }
        let digits = String(decoding: bytes[position..<position + 4], as: UTF8.self)
        guard let pair = Hexadecimal.bytes(digits) else { return nil }
        position += 4
        return UInt16(pair[0]) << 8 | UInt16(pair[1])
    }

    // RFC 8259, section 6.
    private mutating func number() -> JSONValue? {
        let start = position
        _ = take("-")
        let first = position
        guard let digits = digits(), digits == 1 || bytes[first] != UInt8(ascii: "0") else { return nil }
        var isInteger = true
        if take(".") {
            isInteger = false
            guard self.digits() != nil else { return nil }
        }
        if take("e") || take("E") {
            isInteger = false
            _ = take("+") || take("-")
            guard self.digits() != nil else { return nil }
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if isInteger, let number = Int(text) { return .integer(number) }
        return Double(text).flatMap { $0.isFinite ? .number($0) : nil }
    }

    private mutating func digits() -> Int? {
        let start = position
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        return position > start ? position - start : nil
    }

    private mutating func skipSpace() {
        while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { position += 1 }
    }

    private mutating func take(_ word: String) -> Bool {
        guard bytes[position...].starts(with: word.utf8) else { return false }
        position += word.utf8.count
        return true
    }
}
