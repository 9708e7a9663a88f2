/// The lexical layer of the parser: the position in the text and the tokens of RFC 8259.
///
/// It stores no bytes: each function takes the whole text, and every access is bounds-checked.
struct Scanner {
    /// The offset of the next byte to read.
    var position = 0
    /// The number of open arrays and objects.
    private(set) var depth = 0
    private let maxDepth: Int
    /// How to read lone surrogates in values.
    let loneSurrogates: JSON.LoneSurrogates
    /// The member names of the open objects.
    var names = NameStack()

    init(
        size: Int, maxBytes: Int, maxDepth: Int, loneSurrogates: JSON.LoneSurrogates = .refused
    ) throws(JSON.ParseError) {
        guard size <= maxBytes else { throw JSON.ParseError(reason: .tooLarge, offset: maxBytes) }
        self.maxDepth = maxDepth
        self.loneSurrogates = loneSurrogates
    }

    func failure(_ reason: JSON.ParseError.Reason) -> JSON.ParseError {
        JSON.ParseError(reason: reason, offset: position)
    }

    /// Opens the array or object at `position` and skips its bracket.
    mutating func open() throws(JSON.ParseError) {
        guard depth < maxDepth else { throw failure(.tooDeep) }
        depth += 1
        position += 1
    }

    /// Closes the array or object at `position` and skips its bracket.
    mutating func close() {
        depth -= 1
        position += 1
    }

    /// Skips white space and returns the next byte without consuming it.
    @inline(__always)
    mutating func peek(_ bytes: RawSpan) throws(JSON.ParseError) -> UInt8 {
        let count = bytes.byteCount
        while position < count {
            let byte = bytes.byte(position)
            switch byte {
            case ASCII.space, ASCII.lineFeed, ASCII.carriageReturn, ASCII.tab: position += 1
            default: return byte
            }
        }
        throw failure(.unexpectedEnd)
    }

    /// Checks that only white space is left.
    mutating func end(_ bytes: RawSpan) throws(JSON.ParseError) {
        while position < bytes.byteCount {
            switch bytes.byte(position) {
            case ASCII.space, ASCII.lineFeed, ASCII.carriageReturn, ASCII.tab: position += 1
            default: throw failure(.trailingBytes)
            }
        }
    }

    /// Reads `true`, `false` or `null`.
    mutating func literal(_ word: StaticString, _ bytes: RawSpan) throws(JSON.ParseError) {
        for index in 0..<word.utf8CodeUnitCount {
            guard position < bytes.byteCount else { throw failure(.unexpectedEnd) }
            guard bytes.byte(position) == word.utf8Start[index] else { throw failure(.unexpectedByte) }
            position += 1
        }
    }

    /// Reads `[ minus ] int [ frac ] [ exp ]` (RFC 8259 section 6) and returns its range.
    mutating func number(_ bytes: RawSpan) throws(JSON.ParseError) -> Range<Int> {
        let start = position
        if bytes.byte(position) == ASCII.minus { position += 1 }
        if position < bytes.byteCount, bytes.byte(position) == ASCII.zero {
            position += 1
        } else {
            try digits(bytes)
        }
        if position < bytes.byteCount, bytes.byte(position) == ASCII.point {
            position += 1
            try digits(bytes)
        }
        if position < bytes.byteCount, bytes.byte(position) | 0x20 == ASCII.e {
            position += 1
            if position < bytes.byteCount,
                bytes.byte(position) == ASCII.plus || bytes.byte(position) == ASCII.minus
            {
                position += 1
            }
            try digits(bytes)
        }
        // A digit or letter after a number makes it malformed (`01`, `1x`); it doesn't begin a second token.
        if position < bytes.byteCount, bytes.byte(position).mayContinueNumber {
            throw failure(.invalidNumber)
        }
        return start..<position
    }

    /// Reads at least one digit.
    private mutating func digits(_ bytes: RawSpan) throws(JSON.ParseError) {
        guard position < bytes.byteCount else { throw failure(.unexpectedEnd) }
        guard bytes.byte(position).isDigit else { throw failure(.invalidNumber) }
        repeat { position += 1 } while position < bytes.byteCount && bytes.byte(position).isDigit
    }
}

enum ASCII {
    static let tab: UInt8 = 0x09
    static let lineFeed: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space: UInt8 = 0x20
    static let quote: UInt8 = 0x22
    static let plus: UInt8 = 0x2B
    static let comma: UInt8 = 0x2C
    static let minus: UInt8 = 0x2D
    static let point: UInt8 = 0x2E
    static let slash: UInt8 = 0x2F
    static let zero: UInt8 = 0x30
    static let nine: UInt8 = 0x39
    static let colon: UInt8 = 0x3A
    static let openBracket: UInt8 = 0x5B
    static let backslash: UInt8 = 0x5C
    static let closeBracket: UInt8 = 0x5D
    static let b: UInt8 = 0x62
    static let e: UInt8 = 0x65
    static let f: UInt8 = 0x66
    static let n: UInt8 = 0x6E
    static let r: UInt8 = 0x72
    static let t: UInt8 = 0x74
    static let u: UInt8 = 0x75
    static let openBrace: UInt8 = 0x7B
    static let closeBrace: UInt8 = 0x7D
}

extension UInt8 {
    var isDigit: Bool { self &- ASCII.zero < 10 }

    /// Whether this byte, directly after a number, makes the number malformed.
    var mayContinueNumber: Bool {
        isDigit || (self | 0x20) &- 0x61 < 26 || self == ASCII.point || self == ASCII.plus
            || self == ASCII.minus
    }
}

extension RawSpan {
    /// The byte at an offset; traps if it is out of bounds.
    @inline(__always)
    func byte(_ offset: Int) -> UInt8 { unsafeLoad(fromByteOffset: offset, as: UInt8.self) }

    /// The eight bytes at an offset, little-endian; traps if any is out of bounds.
    @inline(__always)
    func word(_ offset: Int) -> UInt64 {
        UInt64(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// The text of a range that is known to be valid UTF-8.
    func text(_ range: Range<Int>) -> String {
        extracting(range).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
}
