extension Scanner {
    /// Reads the next value.
    mutating func wholeValue(_ bytes: RawSpan) throws(JSON.ParseError) -> JSON.Value {
        switch try peek(bytes) {
        case ASCII.quote:
            let token = try string(bytes, loneSurrogates: loneSurrogates)
            let text = bytes.text(token)
            return token.hasLoneSurrogates ? .repairedString(text) : .string(text)
        case ASCII.openBrace: return .object(try object(bytes))
        case ASCII.openBracket: return .array(try array(bytes))
        case ASCII.minus, ASCII.zero...ASCII.nine:
            return .number(JSON.Number(validated: bytes.text(try number(bytes))))
        case ASCII.t:
            try literal("true", bytes)
            return .bool(true)
        case ASCII.f:
            try literal("false", bytes)
            return .bool(false)
        case ASCII.n:
            try literal("null", bytes)
            return .null
        default: throw failure(.unexpectedByte)
        }
    }

    private mutating func array(_ bytes: RawSpan) throws(JSON.ParseError) -> [JSON.Value] {
        var elements: [JSON.Value] = []
        var isMore = try openContainer(ASCII.closeBracket, bytes)
        while isMore {
            elements.append(try wholeValue(bytes))
            isMore = try nextElement(ASCII.closeBracket, bytes)
        }
        return elements
    }

    private mutating func object(_ bytes: RawSpan) throws(JSON.ParseError) -> JSON.Object {
        var members: [JSON.Object.Member] = []
        let base = names.open()
        var isMore = try openContainer(ASCII.closeBrace, bytes)
        if isMore { members.reserveCapacity(8) }
        while isMore {
            let name = bytes.text(try name(base: base, bytes))
            members.append(JSON.Object.Member(name: name, value: try wholeValue(bytes)))
            isMore = try nextElement(ASCII.closeBrace, bytes)
        }
        names.close(base: base)
        return JSON.Object(unique: members)
    }

    /// Skips the next value, with the same checks as ``wholeValue(_:)``.
    mutating func skipWholeValue(_ bytes: RawSpan) throws(JSON.ParseError) {
        switch try peek(bytes) {
        case ASCII.quote: _ = try string(bytes, loneSurrogates: loneSurrogates)
        case ASCII.openBrace: try skipObject(bytes)
        case ASCII.openBracket: try skipArray(bytes)
        case ASCII.minus, ASCII.zero...ASCII.nine: _ = try number(bytes)
        case ASCII.t: try literal("true", bytes)
        case ASCII.f: try literal("false", bytes)
        case ASCII.n: try literal("null", bytes)
        default: throw failure(.unexpectedByte)
        }
    }

    private mutating func skipArray(_ bytes: RawSpan) throws(JSON.ParseError) {
        var isMore = try openContainer(ASCII.closeBracket, bytes)
        while isMore {
            try skipWholeValue(bytes)
            isMore = try nextElement(ASCII.closeBracket, bytes)
        }
    }

    private mutating func skipObject(_ bytes: RawSpan) throws(JSON.ParseError) {
        let base = names.open()
        var isMore = try openContainer(ASCII.closeBrace, bytes)
        while isMore {
            _ = try name(base: base, bytes)
            try skipWholeValue(bytes)
            isMore = try nextElement(ASCII.closeBrace, bytes)
        }
        names.close(base: base)
    }

    /// Reads the opening bracket, and the closing one if the container is empty; returns whether an element follows.
    private mutating func openContainer(_ closing: UInt8, _ bytes: RawSpan) throws(JSON.ParseError) -> Bool {
        try open()
        guard try peek(bytes) == closing else { return true }
        close()
        return false
    }

    /// Reads a comma or the closing bracket; returns whether an element follows.
    private mutating func nextElement(_ closing: UInt8, _ bytes: RawSpan) throws(JSON.ParseError) -> Bool {
        switch try peek(bytes) {
        case ASCII.comma:
            position += 1
            return true
        case closing:
            close()
            return false
        default: throw failure(.unexpectedByte)
        }
    }

    /// Reads a member's name and its colon.
    private mutating func name(base: Int, _ bytes: RawSpan) throws(JSON.ParseError) -> StringToken {
        guard try peek(bytes) == ASCII.quote else { throw failure(.unexpectedByte) }
        let start = position
        // Replacing surrogates could make different names equal.
        let token = try string(bytes, loneSurrogates: .refused)
        guard names.insert(token, base: base, bytes) else {
            throw JSON.ParseError(reason: .duplicateName, offset: start)
        }
        guard try peek(bytes) == ASCII.colon else { throw failure(.unexpectedByte) }
        position += 1
        return token
    }
}
