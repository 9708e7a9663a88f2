package import Network

/// A whole request: head and body are there.
///
/// The target has been checked against RFC 3986's characters but not decoded: `path` is compared byte for byte.
package struct Request: Sendable {
    /// The method as sent.
    package var method: Method
    /// The fields, in the order they came.
    package let headers: Headers
    /// The body without its framing; empty when there was none.
    package var body: [UInt8]
    /// Who sent it: the socket's other end, which may be a proxy; nil in a request that came over no socket.
    package var remoteAddress: SocketAddress?
    /// Names the request in logs and answers; empty until somebody sets it, and never read by the server.
    package var id = ""
    /// The minor version: 1 for HTTP/1.1, 0 for HTTP/1.0.
    package let minorVersion: UInt8
    /// Whether the client would send another request on this connection (RFC 9112, section 9.3).
    package let keepsAlive: Bool

    private let place: RequestTarget

    init(
        method: Method, headers: Headers, body: [UInt8], minorVersion: UInt8, keepsAlive: Bool,
        place: RequestTarget
    ) {
        self.method = method
        self.headers = headers
        self.body = body
        self.minorVersion = minorVersion
        self.keepsAlive = keepsAlive
        self.place = place
    }

    /// A request made by hand, for calling a handler without a connection; `target` is a path with an optional query.
    package init(
        method: Method = .get, target: String, headers: [(name: String, value: String)] = [],
        body: [UInt8] = []
    ) {
        let bytes = Array(target.utf8)
        var fields = Headers(bytes: bytes, fields: [])
        for pair in headers { fields.append(pair.name, pair.value) }
        self.init(
            method: method, headers: fields, body: body, minorVersion: 1, keepsAlive: true,
            place: RequestTarget(split: bytes.span, 0..<bytes.count))
    }

    /// The target as sent: origin form, absolute form or `*` (RFC 9112, section 3.2).
    package var target: String { String(decoding: headers.bytes[place.whole], as: UTF8.self) }

    /// The path, still percent-encoded; `/` for an absolute form without a path, `*` for the server as a whole.
    package var path: String {
        place.path.isEmpty ? "/" : String(decoding: headers.bytes[place.path], as: UTF8.self)
    }

    /// What follows the first question mark, still percent-encoded; empty when there is none.
    package var query: String { String(decoding: headers.bytes[place.query], as: UTF8.self) }

    /// The first value of that name in a query of `name=value` pairs joined by `&`, percent-decoded.
    ///
    /// A name without `=` has the empty value. Nil when the name is absent or its value isn't UTF-8.
    package func queryValue(_ name: String) -> String? {
        for pair in headers.bytes[place.query].split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let first = parts.first, percentDecoded(first) == name else { continue }
            return parts.count == 2 ? percentDecoded(parts[1]) : ""
        }
        return nil
    }

    /// Bytes of memory that head and body take.
    var memoryBytes: Int { headers.bytes.capacity + body.capacity }

    /// Whether the path is exactly these bytes; makes no string.
    func hasPath(_ path: [UInt8]) -> Bool {
        guard !place.path.isEmpty else { return path == [UInt8(ascii: "/")] }
        guard path.count == place.path.count else { return false }
        return headers.bytes[place.path].elementsEqual(path)
    }

    private func percentDecoded(_ text: ArraySlice<UInt8>) -> String? {
        var decoded: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                decoded.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(ByteClass.hexValue),
                let low = rest.popFirst().flatMap(ByteClass.hexValue)
            else { return nil }
            decoded.append(high << 4 | low)
        }
        return String(validating: decoded, as: UTF8.self)
    }
}
