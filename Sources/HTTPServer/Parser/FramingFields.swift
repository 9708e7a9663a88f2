/// The header fields that the server itself acts on: framing, connection, host and expectations.
struct FramingFields {
    /// The value of `Expect` (RFC 9110, section 10.1.1).
    enum Expectation {
        case none, `continue`, other
    }

    private(set) var host: Range<Int>?
    /// The value of `Content-Length`; `Int.max`, which exceeds every limit, if it doesn't fit in an `Int`.
    private(set) var contentLength: Int?
    private(set) var isChunked = false
    private(set) var expectation = Expectation.none
    private(set) var asksToClose = false
    private(set) var asksToKeepAlive = false

    /// Records a field; refuses fields that make the host or the body's length ambiguous.
    mutating func note(_ bytes: Span<UInt8>, _ name: Range<Int>, _ value: Range<Int>) throws(RefusalError) {
        switch name.count {
        case 4 where bytes.isEqual(name, lowercase: "host"):
            guard host == nil, RequestTarget.isHost(bytes, value) else { throw RefusalError(.invalidHost) }
            host = value
        case 6 where bytes.isEqual(name, lowercase: "expect"):
            let isKnown = expectation != .other && bytes.isEqual(value, lowercase: "100-continue")
            expectation = isKnown ? .continue : .other
        case 10 where bytes.isEqual(name, lowercase: "connection"):
            noteConnection(bytes, value)
        case 14 where bytes.isEqual(name, lowercase: "content-length"):
            guard contentLength == nil, let length = Self.length(bytes, value) else {
                throw RefusalError(.invalidFraming)
            }
            contentLength = length
        case 17 where bytes.isEqual(name, lowercase: "transfer-encoding"):
            guard !isChunked else { throw RefusalError(.invalidFraming) }
            guard bytes.isEqual(value, lowercase: "chunked") else {
                throw RefusalError(Self.refusal(ofCodings: value, bytes))
            }
            isChunked = true
        default:
            break
        }
    }

    /// Whether a field's name is `Host`, `Expect`, `Connection`, `Content-Length` or `Transfer-Encoding`.
    static func isOne(_ bytes: Span<UInt8>, _ name: Range<Int>) -> Bool {
        switch name.count {
        case 4: bytes.isEqual(name, lowercase: "host")
        case 6: bytes.isEqual(name, lowercase: "expect")
        case 10: bytes.isEqual(name, lowercase: "connection")
        case 14: bytes.isEqual(name, lowercase: "content-length")
        case 17: bytes.isEqual(name, lowercase: "transfer-encoding")
        default: false
        }
    }

    /// Parses 1*DIGIT.
    private static func length(_ bytes: Span<UInt8>, _ value: Range<Int>) -> Int? {
        guard !value.isEmpty else { return nil }
        var length = 0
        for index in value {
            guard ByteClass.isDigit(bytes[index]) else { return nil }
            let (tens, overflow) = length.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tens.addingReportingOverflow(Int(bytes[index] - UInt8(ascii: "0")))
            length = overflow || carry || length == Int.max ? Int.max : sum
        }
        return length
    }

    /// The refusal for codings other than a single `chunked`.
    ///
    /// If `chunked` appears only as the last coding, the body's end is known but the other codings aren't supported
    /// (501); otherwise the end is unknown too (400; RFC 9112, sections 6.1 and 7.1).
    private static func refusal(ofCodings value: Range<Int>, _ bytes: Span<UInt8>) -> Refusal {
        var codings: [Range<Int>] = []
        var start = value.lowerBound
        for index in value where bytes[index] == UInt8(ascii: ",") {
            codings.append(bytes.trimmed(start..<index))
            start = index + 1
        }
        codings.append(bytes.trimmed(start..<value.upperBound))
        let first = codings.firstIndex { bytes.isEqual($0, lowercase: "chunked") }
        return first == codings.count - 1 ? .unsupportedTransferCoding : .invalidFraming
    }

    private mutating func noteConnection(_ bytes: Span<UInt8>, _ value: Range<Int>) {
        var start = value.lowerBound
        while start <= value.upperBound {
            var end = start
            while end < value.upperBound, bytes[end] != UInt8(ascii: ",") { end += 1 }
            let option = bytes.trimmed(start..<end)
            if bytes.isEqual(option, lowercase: "close") { asksToClose = true }
            if bytes.isEqual(option, lowercase: "keep-alive") { asksToKeepAlive = true }
            start = end + 1
        }
    }
}
