/// Decodes the chunked coding (RFC 9112, section 7.1) and validates every byte of its framing.
///
/// Extensions must follow the grammar, without optional white space, and are dropped. Trailer fields are validated like
/// header fields and dropped; framing fields are not allowed (RFC 9110, section 6.5.1). Extensions, trailers and the
/// number of digits in a size are bounded.
struct ChunkedDecoder {
    private enum State {
        /// Before or in the hexadecimal size.
        case size(digits: Int, value: Int)
        case extensionName(isEmpty: Bool)
        case extensionValue(isEmpty: Bool)
        case quoted
        case quotedPair
        case afterQuoted
        case sizeLineFeed
        case data(left: Int)
        case dataReturn
        case dataLineFeed
        case trailer
    }

    /// The maximum number of digits in a chunk size, including leading zeros; enough for 64 bits.
    private static let sizeDigitsMax = 16

    /// Whether any byte has been consumed.
    private(set) var hasBegun = false
    private var state = State.size(digits: 0, value: 0)
    /// The size of the chunk whose line is being read.
    private var size = 0
    private var extensionBytes = 0
    private var trailerBytes = 0
    private var trailerCount = 0
    private var trailerLine: [UInt8] = []

    /// The allocated memory in bytes.
    var memoryBytes: Int { trailerLine.capacity }

    /// Consumes bytes from `offset` and appends the decoded data to `body`.
    ///
    /// Returns true when the body is complete, with `offset` after its last byte; false when the input ran out.
    mutating func decode(
        _ input: Span<UInt8>, _ offset: inout Int, into body: inout [UInt8], bytesMax: Int,
        limits: RequestLimits
    ) throws(RefusalError) -> Bool {
        hasBegun = hasBegun || offset < input.count
        while offset < input.count {
            switch state {
            case .data(let left):
                let end = min(input.count, offset + left)
                body.append(input, offset..<end)
                state = end - offset == left ? .dataReturn : .data(left: left - (end - offset))
                offset = end
            case .trailer:
                if try trailer(input, &offset, limits: limits) { return true }
            default:
                let byte = input[offset]
                offset += 1
                try frame(byte, bytesLeft: bytesMax - body.count, limits: limits)
            }
        }
        return false
    }

    /// Consumes a framing byte.
    private mutating func frame(_ byte: UInt8, bytesLeft: Int, limits: RequestLimits) throws(RefusalError) {
        switch state {
        case .size(let digits, let value):
            guard let digit = ByteClass.hexValue(byte) else {
                guard digits > 0 else { throw RefusalError(.malformedChunk) }
                size = value
                return try afterSize(byte, limits: limits)
            }
            guard digits < Self.sizeDigitsMax else { throw RefusalError(.malformedChunk) }
            // Can't overflow: the value so far is within the body's limit.
            let next = value << 4 | Int(digit)
            guard next <= bytesLeft else { throw RefusalError(.bodyTooLarge) }
            state = .size(digits: digits + 1, value: next)
        case .extensionName, .extensionValue, .quoted, .quotedPair, .afterQuoted:
            try inExtension(byte, limits: limits)
        case .sizeLineFeed:
            guard byte == UInt8(ascii: "\n") else { throw RefusalError(.malformedChunk) }
            state = size == 0 ? .trailer : .data(left: size)
        case .dataReturn:
            guard byte == UInt8(ascii: "\r") else { throw RefusalError(.malformedChunk) }
            state = .dataLineFeed
        case .dataLineFeed:
            guard byte == UInt8(ascii: "\n") else { throw RefusalError(.malformedChunk) }
            state = .size(digits: 0, value: 0)
        case .data, .trailer:
            break
        }
    }

    /// Consumes the byte after a size or an extension, which begins an extension or the line break.
    private mutating func afterSize(_ byte: UInt8, limits: RequestLimits) throws(RefusalError) {
        switch byte {
        case UInt8(ascii: "\r"):
            state = .sizeLineFeed
        case UInt8(ascii: ";"):
            try countExtensionByte(limits)
            state = .extensionName(isEmpty: true)
        default:
            throw RefusalError(.malformedChunk)
        }
    }

    private mutating func inExtension(_ byte: UInt8, limits: RequestLimits) throws(RefusalError) {
        switch state {
        case .extensionName(isEmpty: false) where byte == UInt8(ascii: "="):
            state = .extensionValue(isEmpty: true)
        case .extensionName where ByteClass.isToken(byte):
            state = .extensionName(isEmpty: false)
        case .extensionValue(isEmpty: true) where byte == UInt8(ascii: "\""):
            state = .quoted
        case .extensionValue where ByteClass.isToken(byte):
            state = .extensionValue(isEmpty: false)
        case .extensionName(isEmpty: false), .extensionValue(isEmpty: false), .afterQuoted:
            return try afterSize(byte, limits: limits)
        case .quoted where byte == UInt8(ascii: "\""):
            state = .afterQuoted
        case .quoted where byte == UInt8(ascii: "\\"):
            state = .quotedPair
        case .quoted where ByteClass.isFieldValue(byte), .quotedPair where ByteClass.isFieldValue(byte):
            state = .quoted
        default:
            throw RefusalError(.malformedChunk)
        }
        try countExtensionByte(limits)
    }

    private mutating func countExtensionByte(_ limits: RequestLimits) throws(RefusalError) {
        extensionBytes += 1
        guard extensionBytes <= limits.chunkExtensionBytesMax else { throw RefusalError(.bodyTooLarge) }
    }

    /// Consumes bytes up to the end of a trailer line; true if the line was empty, which ends the body.
    private mutating func trailer(
        _ input: Span<UInt8>, _ offset: inout Int, limits: RequestLimits
    ) throws(RefusalError) -> Bool {
        let lineFeed = input.firstLineFeed(from: offset)
        let end = lineFeed.map { $0 + 1 } ?? input.count
        trailerBytes += end - offset
        guard trailerBytes <= limits.trailerBytesMax else { throw RefusalError(.headersTooLarge) }
        trailerLine.append(input, offset..<end)
        offset = end
        guard lineFeed != nil else { return false }
        let length = trailerLine.count - 2
        guard length >= 0, trailerLine[length] == UInt8(ascii: "\r") else {
            throw RefusalError(.malformedHeader)
        }
        guard length > 0 else { return true }
        let line = trailerLine
        guard let (name, _) = HeadParser.field(line.span, 0..<length), !FramingFields.isOne(line.span, name)
        else { throw RefusalError(.malformedHeader) }
        trailerCount += 1
        guard trailerCount <= limits.trailerCountMax else { throw RefusalError(.headersTooLarge) }
        trailerLine.removeAll(keepingCapacity: true)
        return false
    }
}

/// A refusal thrown by a part of the parser.
struct RefusalError: Error {
    let refusal: Refusal

    init(_ refusal: Refusal) {
        self.refusal = refusal
    }
}
