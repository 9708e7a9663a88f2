package import Network

/// A complete request, head and body.
///
/// The target's characters are validated (RFC 3986) but not decoded: `path` is compared byte by byte.
package struct Request: Sendable {
    /// The method as sent.
    package var method: Method
    /// The fields in the order received.
    package let headers: Headers
    /// The body without its framing; empty when there was none.
    package var body: [UInt8]
    /// The socket's peer, which may be a proxy; nil for a request without a socket.
    package var remoteAddress: SocketAddress?
    /// Identifies the request in logs and responses; empty by default and never read by the server.
    package var id = ""
    /// The minor version: 1 for HTTP/1.1, 0 for HTTP/1.0.
    package let minorVersion: UInt8
    /// Whether the client wants to keep the connection open (RFC 9112, section 9.3).
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

    /// Creates a request for calling a handler without a connection; `target` is a path with an optional query.
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

    /// The text after the first question mark, still percent-encoded; empty if there is none.
    package var query: String { String(decoding: headers.bytes[place.query], as: UTF8.self) }

    /// The first value for a name in a query of `name=value` pairs joined by `&`, percent-decoded.
    ///
    /// A name without `=` has an empty value. Nil if the name is absent or its value isn't UTF-8.
    package func queryValue(_ name: String) -> String? {
        for pair in headers.bytes[place.query].split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let first = parts.first, percentDecoded(first) == name else { continue }
            return parts.count == 2 ? percentDecoded(parts[1]) : ""
        }
        return nil
    }

    /// Whether a browser is asking what a page from another origin may send (Fetch Standard, "CORS-preflight request").
    var isPreflight: Bool {
        method == .options && headers.bytes(of: "Origin") != nil
            && headers.bytes(of: "Access-Control-Request-Method") != nil
    }

    /// The allocated size of the head and body in bytes.
    var memoryBytes: Int { headers.bytes.capacity + body.capacity }

    /// Whether the path equals these bytes; creates no string.
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
