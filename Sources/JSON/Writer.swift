extension JSON {
    /// Writes JSON text incrementally, without building values.
    ///
    /// Inserts commas and colons. The output is UTF-8 without white space and escapes only what RFC 8259 section 7
    /// requires. The caller must balance `begin…` and `end…` and name each member of an object; ``finish()`` traps if
    /// the text is unfinished.
    ///
    /// ```swift
    /// var writer = JSON.Writer()
    /// writer.beginObject()
    /// writer.member("ok", true)
    /// writer.name("devices")
    /// writer.beginArray()
    /// for device in devices { writer.string(device) }
    /// writer.endArray()
    /// writer.endObject()
    /// let body = writer.finish()
    /// ```
    package struct Writer: Sendable {
        /// The text written so far.
        package private(set) var bytes: [UInt8]
        fileprivate var needsComma = false
        private var depth = 0

        /// Creates a writer without output.
        ///
        /// - Parameter capacity: The expected size in bytes; it may be exceeded.
        package init(capacity: Int = 256) {
            bytes = []
            bytes.reserveCapacity(capacity)
        }

        /// Returns the finished text.
        package consuming func finish() -> [UInt8] {
            precondition(depth == 0 && !bytes.isEmpty, "a JSON text was left unfinished")
            return bytes
        }

        /// Opens an object.
        package mutating func beginObject() { begin(ASCII.openBrace) }
        /// Closes an object.
        package mutating func endObject() { end(ASCII.closeBrace) }
        /// Opens an array.
        package mutating func beginArray() { begin(ASCII.openBracket) }
        /// Closes an array.
        package mutating func endArray() { end(ASCII.closeBracket) }

        /// Writes the name of the next member, a literal that needs no escaping.
        package mutating func name(_ name: StaticString) {
            separate()
            quoted(name)
            bytes.append(ASCII.colon)
            needsComma = false
        }

        /// Writes the name of the next member, escaped.
        @_disfavoredOverload
        package mutating func name(_ name: String) {
            separate()
            escape(name)
            bytes.append(ASCII.colon)
            needsComma = false
        }

        /// Writes a string.
        package mutating func string(_ value: String) {
            separate()
            escape(value)
            needsComma = true
        }

        /// Writes an integer.
        package mutating func int(_ value: Int) { int(Int64(value)) }

        /// Writes an integer.
        package mutating func int(_ value: Int64) {
            separate()
            if value < 0 { bytes.append(ASCII.minus) }
            decimal(value.magnitude)
            needsComma = true
        }

        /// Writes an integer.
        package mutating func int(_ value: UInt64) {
            separate()
            decimal(value)
            needsComma = true
        }

        /// Writes `true` or `false`.
        package mutating func bool(_ value: Bool) { word(value ? "true" : "false") }

        /// Writes `null`.
        package mutating func null() { word("null") }

        /// Writes a number as its original text.
        package mutating func number(_ value: Number) { word(value.text) }

        /// Writes a value with all its contents.
        package mutating func value(_ value: Value) {
            switch value {
            case .null: null()
            case .bool(let value): bool(value)
            case .number(let value): number(value)
            case .string(let value), .repairedString(let value): string(value)
            case .array(let elements):
                beginArray()
                for element in elements { self.value(element) }
                endArray()
            case .object(let object):
                beginObject()
                for member in object.members {
                    name(member.name)
                    self.value(member.value)
                }
                endObject()
            }
        }

        /// Writes the members of an already encoded object, which must have no white space around it.
        package mutating func members(of object: [UInt8]) {
            let members = object.dropFirst().dropLast()
            guard !members.isEmpty else { return }
            separate()
            bytes.append(contentsOf: members)
            needsComma = true
        }

        private mutating func begin(_ bracket: UInt8) {
            separate()
            bytes.append(bracket)
            needsComma = false
            depth += 1
        }

        private mutating func end(_ bracket: UInt8) {
            bytes.append(bracket)
            needsComma = true
            depth -= 1
        }

        fileprivate mutating func quoted(_ text: StaticString) {
            let utf8 = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
            assert(utf8.firstToEscape(from: 0) == utf8.count, "a text that must be escaped")
            bytes.append(ASCII.quote)
            bytes.append(contentsOf: utf8)
            bytes.append(ASCII.quote)
        }

        private mutating func separate() { if needsComma { bytes.append(ASCII.comma) } }

        private mutating func word(_ text: String) {
            separate()
            bytes.append(contentsOf: text.utf8)
            needsComma = true
        }
    }
}

extension JSON.Writer {
    /// Writes a member with a string.
    package mutating func member(_ name: StaticString, _ value: String) {
        self.name(name)
        string(value)
    }

    /// Writes a member with a string literal that needs no escaping.
    package mutating func member(_ name: StaticString, word: StaticString) {
        self.name(name)
        quoted(word)
        needsComma = true
    }

    /// Writes a member with an integer.
    package mutating func member(_ name: StaticString, _ value: Int) {
        self.name(name)
        int(value)
    }

    /// Writes a member with an integer.
    package mutating func member(_ name: StaticString, _ value: Int64) {
        self.name(name)
        int(value)
    }

    /// Writes a member with a Boolean.
    package mutating func member(_ name: StaticString, _ value: Bool) {
        self.name(name)
        bool(value)
    }
}

extension JSON.Writer {
    /// Writes a quoted string; runs without escapes are copied whole.
    private mutating func escape(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            let utf8 = UnsafeRawBufferPointer(utf8)
            bytes.append(ASCII.quote)
            var end = utf8.firstToEscape(from: 0)
            guard end < utf8.count else {
                bytes.append(contentsOf: utf8)
                return bytes.append(ASCII.quote)
            }
            var start = 0
            while end < utf8.count {
                bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: utf8[start..<end]))
                escape(utf8[end])
                start = end + 1
                end = utf8.firstToEscape(from: start)
            }
            bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: utf8[start..<end]))
            bytes.append(ASCII.quote)
        }
    }

    private mutating func escape(_ byte: UInt8) {
        bytes.append(ASCII.backslash)
        switch byte {
        case ASCII.quote, ASCII.backslash: bytes.append(byte)
        case 0x08: bytes.append(ASCII.b)
        case ASCII.tab: bytes.append(ASCII.t)
        case ASCII.lineFeed: bytes.append(ASCII.n)
        case 0x0C: bytes.append(ASCII.f)
        case ASCII.carriageReturn: bytes.append(ASCII.r)
        default:
            let low = byte & 0xF
            bytes.append(contentsOf: [ASCII.u, ASCII.zero, ASCII.zero, ASCII.zero + byte >> 4])
            bytes.append(low < 10 ? ASCII.zero + low : 0x61 + low - 10)
        }
    }

    private mutating func decimal(_ value: UInt64) {
        var value = value
        let start = bytes.count
        repeat {
            let (quotient, remainder) = value.quotientAndRemainder(dividingBy: 10)
            bytes.append(ASCII.zero + UInt8(truncatingIfNeeded: remainder))
            value = quotient
        } while value > 0
        if bytes.count > start + 1 { bytes[start...].reverse() }
    }
}

extension JSON.Writer {
    /// The size in bytes of a string's escaped content, without quotes.
    package static func escapedCount(_ text: String) -> Int {
        var text = text
        return text.withUTF8 { utf8 in
            var count = utf8.count
            for byte in utf8 { count &+= escapedExtra(byte) }
            return count
        }
    }

    /// The size in UTF-8 bytes of the longest prefix whose escaped form has at most `maxCount` bytes.
    ///
    /// The prefix may end in the middle of a character.
    package static func prefixCount(_ text: String, escapedTo maxCount: Int) -> Int {
        var text = text
        return text.withUTF8 { utf8 in
            var room = maxCount
            for (index, byte) in utf8.enumerated() {
                room -= 1 + escapedExtra(byte)
                guard room >= 0 else { return index }
            }
            return utf8.count
        }
    }

    /// How many bytes escaping adds to a byte.
    @inline(__always)
    private static func escapedExtra(_ byte: UInt8) -> Int {
        switch byte {
        case ASCII.quote, ASCII.backslash, 0x08, ASCII.tab, ASCII.lineFeed, 0x0C, ASCII.carriageReturn: 1
        case ..<ASCII.space: 5
        default: 0
        }
    }
}

extension UnsafeRawBufferPointer {
    /// The index of the first byte from `start` that must be escaped; the end if there is none.
    fileprivate func firstToEscape(from start: Int) -> Int {
        var index = start
        while index &+ 8 <= count {
            let word = UInt64(littleEndian: loadUnaligned(fromByteOffset: index, as: UInt64.self))
            let marks = word.bytesToEscape
            guard marks == 0 else { return index + marks.trailingZeroBitCount / 8 }
            index += 8
        }
        if index > start && index < count {
            // The last eight bytes, which overlap those already checked.
            let word = UInt64(littleEndian: loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self))
            let marks = word.bytesToEscape
            return marks == 0 ? count : count - 8 + marks.trailingZeroBitCount / 8
        }
        while index < count {
            let byte = self[index]
            if byte < ASCII.space || byte == ASCII.quote || byte == ASCII.backslash { return index }
            index += 1
        }
        return count
    }
}

extension JSON.Value {
    /// The value as JSON text, with its members in order.
    package func encoded() -> [UInt8] {
        var writer = JSON.Writer()
        writer.value(self)
        return writer.finish()
    }
}
