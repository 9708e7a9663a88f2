/// A parsed request target (RFC 9112, section 3.2): the ranges of authority, path and query in the head.
///
/// Accepts the origin form, `*` for `OPTIONS`, and the absolute form with `http` and `https`, which a server must
/// accept (section 3.2.2). The authority of the absolute form must equal `Host`, so that a proxy and this server can't
/// see different hosts.
struct RequestTarget: Sendable {
    var whole: Range<Int>
    /// The path; empty for an absolute form without one.
    var path: Range<Int>
    /// The query without the question mark.
    var query: Range<Int>
    /// The authority; only in the absolute form.
    var authority: Range<Int>?

    /// Splits a path with an optional query, without validating it.
    init(split bytes: Span<UInt8>, _ range: Range<Int>) {
        let mark = bytes.end(of: { $0 != UInt8(ascii: "?") }, in: range)
        whole = range
        path = range.lowerBound..<mark
        query = min(mark + 1, range.upperBound)..<range.upperBound
    }

    /// Parses a non-empty target; nil if it is malformed or its form doesn't fit the method.
    init?(_ bytes: Span<UInt8>, _ range: Range<Int>, method: Method) {
        var pathStart = range.lowerBound
        var authority: Range<Int>?
        switch bytes[range.lowerBound] {
        case UInt8(ascii: "/"):
            break
        case UInt8(ascii: "*"):
            guard range.count == 1, method == .options else { return nil }
        default:
            guard let found = Self.authority(bytes, range) else { return nil }
            authority = found
            pathStart = found.upperBound
        }
        var index = pathStart
        while true {
            index = bytes.end(
                of: { ByteClass.isTarget($0) && $0 != UInt8(ascii: "%") }, in: index..<range.upperBound)
            guard index < range.upperBound else { break }
            guard bytes[index] == UInt8(ascii: "%"), range.upperBound - index > 2,
                ByteClass.hexValue(bytes[index + 1]) != nil, ByteClass.hexValue(bytes[index + 2]) != nil
            else { return nil }
            index += 3
        }
        self.init(split: bytes, pathStart..<range.upperBound)
        self.whole = range
        self.authority = authority
    }

    /// The authority of an absolute form; nil for other forms, or if it is invalid or has user information.
    private static func authority(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Range<Int>? {
        var start = range.lowerBound
        if range.count > 7, bytes.isEqual(start..<start + 7, lowercase: "http://") {
            start += 7
        } else if range.count > 8, bytes.isEqual(start..<start + 8, lowercase: "https://") {
            start += 8
        } else {
            return nil
        }
        let end = bytes.end(
            of: { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }, in: start..<range.upperBound)
        guard end > start, isHost(bytes, start..<end) else { return nil }
        return start..<end
    }

    /// Whether the bytes are `host [":" port]` (RFC 9110, section 7.2).
    ///
    /// An empty host is valid: clients send one for a URI without an authority.
    static func isHost(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        guard !range.isEmpty else { return true }
        guard let end = hostEnd(bytes, range) else { return false }
        guard end < range.upperBound else { return true }
        guard bytes[end] == UInt8(ascii: ":"), range.upperBound - end <= 6 else { return false }
        for index in end + 1..<range.upperBound where !ByteClass.isDigit(bytes[index]) { return false }
        return true
    }

    /// The end of a name, an IPv4 address or a bracketed IPv6 address; nil if there is none.
    private static func hostEnd(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Int? {
        let start = range.lowerBound
        guard bytes[start] == UInt8(ascii: "[") else {
            let end = bytes.end(of: ByteClass.isHostName, in: range)
            return end > start ? end : nil
        }
        let end = bytes.end(of: ByteClass.isIPv6, in: start + 1..<range.upperBound)
        guard end > start + 1, end < range.upperBound, bytes[end] == UInt8(ascii: "]") else { return nil }
        return end + 1
    }
}
