/// A validated string in the text, with its escapes still in place.
struct StringToken {
    /// The bytes between the quotes.
    var range: Range<Int>
    var hasEscapes: Bool
    /// Whether the string contains a lone surrogate escape.
    var hasLoneSurrogates = false
}

extension Scanner {
    /// Reads a string that opens at `position`, validating UTF-8 and escapes (RFC 8259 section 7).
    mutating func string(
        _ bytes: RawSpan, loneSurrogates: JSON.LoneSurrogates
    ) throws(JSON.ParseError) -> StringToken {
        position += 1
        let start = position
        var token = StringToken(range: start..<start, hasEscapes: false)
        while true {
            skipPlainText(bytes)
            guard position < bytes.byteCount else { throw failure(.unexpectedEnd) }
            let byte = bytes.byte(position)
            switch byte {
            case ASCII.quote:
                token.range = start..<position
                position += 1
                return token
            case ASCII.backslash:
                token.hasEscapes = true
                try escape(bytes, loneSurrogates, of: &token)
            case ..<ASCII.space:
                throw failure(.controlCharacter)
            case 0x80...:
                try multibyteScalar(bytes, lead: byte)
            default:
                position += 1
            }
        }
    }

    /// Skips printable ASCII except quotes and backslashes, eight bytes at a time.
    @inline(__always)
    private mutating func skipPlainText(_ bytes: RawSpan) {
        while position &+ 8 <= bytes.byteCount {
            let special = bytes.word(position).bytesSpecialInString
            guard special == 0 else {
                position += special.trailingZeroBitCount / 8
                return
            }
            position += 8
        }
    }

    /// Reads one sequence of two to four bytes according to Unicode's table 3-7 "Well-Formed UTF-8 Byte Sequences".
    private mutating func multibyteScalar(_ bytes: RawSpan, lead: UInt8) throws(JSON.ParseError) {
        let trailing: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch lead {
        case 0xC2...0xDF: trailing = 1
        case 0xE0:
            trailing = 2
            second = 0xA0...0xBF  // below: overlong forms
        case 0xED:
            trailing = 2
            second = 0x80...0x9F  // above: surrogates
        case 0xE1...0xEF: trailing = 2
        case 0xF0:
            trailing = 3
            second = 0x90...0xBF  // below: overlong forms
        case 0xF1...0xF3: trailing = 3
        case 0xF4:
            trailing = 3
            second = 0x80...0x8F  // above: beyond U+10FFFF
        default: throw failure(.invalidUTF8)
        }
        guard position + trailing < bytes.byteCount, second.contains(bytes.byte(position + 1)) else {
            throw failure(.invalidUTF8)
        }
        for index in 1..<trailing where bytes.byte(position + index + 1) & 0xC0 != 0x80 {
            throw failure(.invalidUTF8)
        }
        position += trailing + 1
    }

    /// Reads one escape, or two that form a surrogate pair.
    private mutating func escape(
        _ bytes: RawSpan, _ loneSurrogates: JSON.LoneSurrogates, of token: inout StringToken
    ) throws(JSON.ParseError) {
        guard position + 1 < bytes.byteCount else {
            position = bytes.byteCount
            throw failure(.unexpectedEnd)
        }
        switch bytes.byte(position + 1) {
        case ASCII.quote, ASCII.backslash, ASCII.slash, ASCII.b, ASCII.f, ASCII.n, ASCII.r, ASCII.t:
            position += 2
        case ASCII.u:
            let start = position
            let first = try unicodeEscape(bytes)
            guard UTF16.isSurrogate(first) else { break }
            let mayBePair =
                UTF16.isLeadSurrogate(first) && position + 1 < bytes.byteCount
                && bytes.byte(position) == ASCII.backslash && bytes.byte(position + 1) == ASCII.u
            if mayBePair, UTF16.isTrailSurrogate(try unicodeEscape(bytes)) { break }
            guard loneSurrogates == .replaced else {
                position = start
                throw failure(.loneSurrogate)
            }
            // The second escape may begin another pair; unescaping detects that.
            token.hasLoneSurrogates = true
        default: throw failure(.invalidEscape)
        }
    }

    /// Reads `\u` and its four hexadecimal digits.
    private mutating func unicodeEscape(_ bytes: RawSpan) throws(JSON.ParseError) -> UInt16 {
        guard position + 6 <= bytes.byteCount else { throw failure(.invalidEscape) }
        guard let unit = bytes.codeUnit(position + 2) else { throw failure(.invalidEscape) }
        position += 6
        return unit
    }
}

extension RawSpan {
    /// The unescaped text of a validated string.
    func text(_ token: StringToken) -> String {
        token.hasEscapes ? unescapedText(token.range) : text(token.range)
    }

    private func unescapedText(_ range: Range<Int>) -> String {
        // Every escape is longer than the UTF-8 it represents.
        String(unsafeUninitializedCapacity: range.count) { buffer in
            var written = 0
            var offset = range.lowerBound
            while offset < range.upperBound {
                let byte = self.byte(offset)
                guard byte == ASCII.backslash else {
                    buffer[written] = byte
                    written += 1
                    offset += 1
                    continue
                }
                let (scalar, length) = unescaped(offset, end: range.upperBound)
                for unit in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
                    buffer[written] = unit
                    written += 1
                }
                offset += length
            }
            return written
        }
    }

    /// The scalar of a validated escape and the escape's length.
    private func unescaped(_ offset: Int, end: Int) -> (Unicode.Scalar, length: Int) {
        switch byte(offset + 1) {
        case ASCII.b: return ("\u{08}", 2)
        case ASCII.f: return ("\u{0C}", 2)
        case ASCII.n: return ("\n", 2)
        case ASCII.r: return ("\r", 2)
        case ASCII.t: return ("\t", 2)
        case ASCII.u: break
        case let other: return (Unicode.Scalar(other), 2)
        }
        guard let first = codeUnit(offset + 2) else { return ("\u{FFFD}", 6) }
        if let scalar = Unicode.Scalar(first) { return (scalar, 6) }
        guard UTF16.isLeadSurrogate(first), offset + 12 <= end, byte(offset + 6) == ASCII.backslash,
            byte(offset + 7) == ASCII.u, let second = codeUnit(offset + 8), UTF16.isTrailSurrogate(second)
        else { return ("\u{FFFD}", 6) }
        return (UTF16.decode(UTF16.EncodedScalar([first, second])), 12)
    }

    /// Parses four hexadecimal digits.
    fileprivate func codeUnit(_ offset: Int) -> UInt16? {
        var unit: UInt16 = 0
        for index in 0..<4 {
            guard let digit = byte(offset + index).hexDigit else { return nil }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }
}

extension UInt8 {
    fileprivate var hexDigit: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x41 + 10
        case 0x61...0x66: self - 0x61 + 10
        default: nil
        }
    }
}
