extension JSON {
    /// Writes one JSON text as its parts are named, in that order, without building values first.
    ///
    /// Commas and colons come by themselves. Output is UTF-8 without white space; only what RFC 8259 section 7
    /// requires is escaped. Whoever calls balances `begin…` and `end…` and gives each value of an object its name;
    /// ``finish()`` traps where that was not done.
    package struct Writer: Sendable {
        /// What has been written so far.
        package private(set) var bytes: [UInt8]
        private var needsComma = false
        private var depth = 0

        /// An empty text.
        ///
        /// - Parameter capacity: The size in bytes that is expected; more is allowed.
        package init(capacity: Int = 256) {
            bytes = []
            bytes.reserveCapacity(capacity)
        }

        /// The finished text.
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

        /// The name of the member whose value comes next.
        package mutating func name(_ name: String) {
            separate()
            escape(name)
            bytes.append(ASCII.colon)
            needsComma = false
        }

        /// A string.
        package mutating func string(_ value: String) {
            separate()
            escape(value)
            needsComma = true
        }

        /// An integer.
        package mutating func int(_ value: some FixedWidthInteger) {
            separate()
            decimal(value)
            needsComma = true
        }

        /// `true` or `false`.
        package mutating func bool(_ value: Bool) { word(value ? "true" : "false") }

        /// `null`.
        package mutating func null() { word("null") }

        /// A number in the text it came with.
        package mutating func number(_ value: Number) { word(value.text) }

        /// A whole value.
        package mutating func value(_ value: Value) {
            switch value {
            case .null: null()
            case .bool(let value): bool(value)
            case .number(let value): number(value)
            case .string(let value): string(value)
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

        private mutating func separate() { if needsComma { bytes.append(ASCII.comma) } }

        private mutating func word(_ text: String) {
            separate()
            bytes.append(contentsOf: text.utf8)
            needsComma = true
        }
    }
}

extension JSON.Writer {
    /// A member with a string.
    package mutating func member(_ name: String, _ value: String) {
        self.name(name)
        string(value)
    }

    /// A member with an integer.
    package mutating func member(_ name: String, _ value: some FixedWidthInteger) {
        self.name(name)
        int(value)
    }

    /// A member with a truth value.
    package mutating func member(_ name: String, _ value: Bool) {
        self.name(name)
        bool(value)
    }
}

extension JSON.Writer {
    /// Writes a string with its quotes; runs that need no escape are copied whole.
    private mutating func escape(_ text: String) {
        bytes.append(ASCII.quote)
        var text = text
        text.withUTF8 { utf8 in
            var start = 0
            for index in 0..<utf8.count {
                let byte = utf8[index]
                guard byte < ASCII.space || byte == ASCII.quote || byte == ASCII.backslash else { continue }
                bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start..<index]))
                escape(byte)
                start = index + 1
            }
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start...]))
        }
        bytes.append(ASCII.quote)
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

    private mutating func decimal(_ value: some FixedWidthInteger) {
        if value < 0 { bytes.append(ASCII.minus) }
        var magnitude = value.magnitude
        let start = bytes.count
        repeat {
            let (quotient, remainder) = magnitude.quotientAndRemainder(dividingBy: 10)
            bytes.append(ASCII.zero + UInt8(remainder))
            magnitude = quotient
        } while magnitude > 0
        bytes[start...].reverse()
    }
}

extension JSON.Writer {
    /// How many bytes a string's content takes once written, without its quotes.
    ///
    /// - Parameter text: Any text.
    package static func escapedCount(_ text: some StringProtocol) -> Int {
        text.utf8.reduce(0) { $0 + escapedCount($1) }
    }

    /// How many bytes one byte of a string's UTF-8 takes once written.
    @inline(__always)
    package static func escapedCount(_ byte: UInt8) -> Int {
        switch byte {
        case ASCII.quote, ASCII.backslash, 0x08, ASCII.tab, ASCII.lineFeed, 0x0C, ASCII.carriageReturn: 2
        case ..<ASCII.space: 6
        default: 1
        }
    }
}

extension JSON.Value {
    /// The value's JSON text, members in their order.
    package func encoded() -> [UInt8] {
        var writer = JSON.Writer()
        writer.value(self)
        return writer.finish()
    }
}
