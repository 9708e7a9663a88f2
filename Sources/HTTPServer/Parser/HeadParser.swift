/// Parses the lines of one head, one complete line at a time.
///
/// It holds no bytes: a line is identified by its line feed in a span that begins with the head, and results are ranges
/// of that span. The span may differ from line to line if it begins with the same bytes.
struct HeadParser {
    enum Line {
        /// An empty line before the request line; the head begins after it.
        case blank
        /// The request line or a field line.
        case part
        /// The empty line that ends the head.
        case end
    }

    /// Empty lines allowed before a request line: some old clients send one after a body (RFC 9112, section 2.2).
    private static let blankLinesMax = 1
    /// The number of fields to reserve memory for, enough for a typical request.
    private static let fieldsReserved = 12

    private(set) var lineStart = 0
    /// Whether the whole head has been read.
    private(set) var isComplete = false
    private(set) var fields: [Headers.Field] = []
    private(set) var method = Method.get
    private(set) var minorVersion: UInt8 = 1
    private(set) var target: RequestTarget?
    private(set) var framing = FramingFields()
    private var headerBytes = 0
    private var blankLines = 0

    /// Whether the request line has been read.
    private var hasRequestLine: Bool { target != nil }

    /// Refuses an incomplete line whose first `count` bytes already exceed the limit.
    func checkPartialLine(_ count: Int, limits: RequestLimits) throws(RefusalError) {
        if hasRequestLine {
            guard headerBytes + count <= limits.headerBytesMax else { throw RefusalError(.headersTooLarge) }
        } else {
            // The extra byte may be the CR.
            guard count <= limits.requestLineBytesMax + 1 else { throw RefusalError(.requestLineTooLong) }
        }
    }

    /// Parses the line that ends at `lineFeed`.
    mutating func line(
        _ bytes: Span<UInt8>, _ lineFeed: Int, limits: RequestLimits
    ) throws(RefusalError) -> Line {
        let start = lineStart
        try checkPartialLine(lineFeed - start, limits: limits)
        guard lineFeed > start, bytes[lineFeed - 1] == UInt8(ascii: "\r") else {
            throw RefusalError(hasRequestLine ? .malformedHeader : .malformedRequestLine)
        }
        let line = start..<lineFeed - 1
        lineStart = lineFeed + 1
        guard hasRequestLine else {
            guard line.isEmpty else {
                try requestLine(bytes, line)
                return .part
            }
            blankLines += 1
            guard blankLines <= Self.blankLinesMax else { throw RefusalError(.malformedRequestLine) }
            lineStart = 0
            return .blank
        }
        headerBytes += line.count + 2
        guard headerBytes <= limits.headerBytesMax else { throw RefusalError(.headersTooLarge) }
        guard !line.isEmpty else {
            isComplete = true
            return .end
        }
        guard fields.count < limits.headerCountMax else { throw RefusalError(.headersTooLarge) }
        try fieldLine(bytes, line)
        return .part
    }

    /// Validates the complete head.
    func check(_ bytes: Span<UInt8>, limits: RequestLimits) throws(RefusalError) {
        guard let host = framing.host else {
            guard minorVersion == 0 else { throw RefusalError(.invalidHost) }
            return try checkFraming(bytes, limits)
        }
        if let authority = target?.authority, !bytes.isEqualIgnoringCase(authority, host) {
            throw RefusalError(.invalidHost)
        }
        try checkFraming(bytes, limits)
    }

    private func checkFraming(_ bytes: Span<UInt8>, _ limits: RequestLimits) throws(RefusalError) {
        // A transfer coding in HTTP/1.0 is faulty framing (RFC 9112, section 6.1).
        guard !framing.isChunked || framing.contentLength == nil && minorVersion == 1 else {
            throw RefusalError(.invalidFraming)
        }
        // HTTP/1.0 has no expectations (RFC 9110, section 10.1.1).
        guard framing.expectation != .other || minorVersion == 0 else {
            throw RefusalError(.unsupportedExpectation)
        }
        let length = framing.contentLength ?? 0
        guard length <= limits.bodyBytesMax || length <= bodyBytesMax(bytes, limits) else {
            throw RefusalError(.bodyTooLarge)
        }
    }

    /// The maximum body size for the request with this complete head.
    func bodyBytesMax(_ bytes: Span<UInt8>, _ limits: RequestLimits) -> Int {
        guard let target, !limits.bodyBytesMaxOfPaths.isEmpty else { return limits.bodyBytesMax }
        let path = String(decoding: bytes.copy(target.path), as: UTF8.self)
        return limits.bodyBytesMaxOfPaths[path] ?? limits.bodyBytesMax
    }

    /// Whether the client is waiting for `100 Continue`.
    var expectsContinue: Bool { framing.expectation == .continue && minorVersion == 1 }

    /// Whether the connection may carry another request (RFC 9112, section 9.3).
    var keepsAlive: Bool { !framing.asksToClose && (minorVersion == 1 || framing.asksToKeepAlive) }

    // MARK: The request line

    private mutating func requestLine(_ bytes: Span<UInt8>, _ line: Range<Int>) throws(RefusalError) {
        let name = line.lowerBound..<bytes.end(of: ByteClass.isToken, in: line)
        guard !name.isEmpty, name.upperBound < line.upperBound, bytes[name.upperBound] == 0x20 else {
            throw RefusalError(.malformedRequestLine)
        }
        let rest = name.upperBound + 1..<line.upperBound
        let targetRange = rest.lowerBound..<bytes.end(of: { $0 != 0x20 }, in: rest)
        guard !targetRange.isEmpty else { throw RefusalError(.malformedRequestLine) }
        minorVersion = try Self.minorVersion(bytes, targetRange.upperBound..<line.upperBound)
        method = Self.method(bytes, name)
        guard method != .connect else { throw RefusalError(.tunnelNotSupported) }
        guard let target = RequestTarget(bytes, targetRange, method: method) else {
            throw RefusalError(.malformedTarget)
        }
        self.target = target
        fields.reserveCapacity(Self.fieldsReserved)
    }

    /// Parses ` HTTP/1.1` or ` HTTP/1.0`.
    private static func minorVersion(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(RefusalError) -> UInt8
    {
        let start = range.lowerBound
        guard range.count == 9, bytes.isEqual(start..<start + 6, exactly: " HTTP/"),
            ByteClass.isDigit(bytes[start + 6]), bytes[start + 7] == UInt8(ascii: "."),
            ByteClass.isDigit(bytes[start + 8])
        else { throw RefusalError(.malformedRequestLine) }
        let minor = bytes[start + 8] - UInt8(ascii: "0")
        guard bytes[start + 6] == UInt8(ascii: "1"), minor <= 1 else {
            throw RefusalError(.unsupportedVersion)
        }
        return minor
    }

    private static func method(_ bytes: Span<UInt8>, _ name: Range<Int>) -> Method {
        if bytes.isEqual(name, exactly: "GET") { return .get }
        if bytes.isEqual(name, exactly: "POST") { return .post }
        return Method(String(decoding: bytes.copy(name), as: UTF8.self))
    }

    // MARK: Field lines

    private mutating func fieldLine(_ bytes: Span<UInt8>, _ line: Range<Int>) throws(RefusalError) {
        guard let (name, value) = Self.field(bytes, line) else { throw RefusalError(.malformedHeader) }
        fields.append(
            Headers.Field(
                name: UInt32(name.lowerBound)..<UInt32(name.upperBound),
                value: UInt32(value.lowerBound)..<UInt32(value.upperBound)))
        try framing.note(bytes, name, value)
    }

    /// Parses a field line and returns the ranges of its name and value in `bytes`.
    ///
    /// Nil unless the line is `token ":" OWS value OWS`; folding, a space before the colon and control characters are
    /// invalid.
    static func field(_ bytes: Span<UInt8>, _ line: Range<Int>) -> (name: Range<Int>, value: Range<Int>)? {
        let colon = bytes.end(of: ByteClass.isToken, in: line)
        guard colon > line.lowerBound, colon < line.upperBound, bytes[colon] == UInt8(ascii: ":") else {
            return nil
        }
        let value = colon + 1..<line.upperBound
        guard bytes.isFieldValue(value) else { return nil }
        return (line.lowerBound..<colon, bytes.trimmed(value))
    }
}
