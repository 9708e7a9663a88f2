internal import COpenSSL

/// An HTTP proxy that opens tunnels with CONNECT (RFC 9110, section 9.3.6).
///
/// Its credentials are never printed.
package struct ConnectProxy: Hashable, Sendable {
    /// The proxy's address; connections to it use no TLS.
    package let endpoint: Endpoint
    /// The value of Proxy-Authorization.
    package let authorization: String?

    /// Creates a proxy, with credentials if it requires them (RFC 7617).
    ///
    /// - Parameter user: Must not contain a colon; neither user nor password may contain control characters.
    package init(endpoint: Endpoint, user: String? = nil, password: String? = nil) {
        self.endpoint = endpoint
        authorization = user.map { "Basic " + Self.base64(Array("\($0):\(password ?? "")".utf8)) }
    }

    /// The request for a tunnel to a server.
    func request(for server: Endpoint) -> [UInt8] {
        var text = "CONNECT \(server) HTTP/1.1\r\nHost: \(server)\r\n"
        if let authorization { text += "Proxy-Authorization: \(authorization)\r\n" }
        return Array((text + "\r\n").utf8)
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        var text = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
        let count = unsafe EVP_EncodeBlock(&text, bytes, Int32(bytes.count))
        return String(decoding: text.prefix(Int(count)), as: UTF8.self)
    }
}

extension ConnectProxy: CustomStringConvertible, CustomReflectable {
    package var description: String { endpoint.description }

    package var customMirror: Mirror { Mirror(self, children: ["endpoint": endpoint]) }
}

/// Parses a proxy's response to CONNECT; a pure value.
struct ProxyAnswer {
    /// The maximum size of the status line and fields.
    static let headBytesMax = 16 * 1024

    /// The meaning of a response.
    enum Verdict: Equatable {
        /// The tunnel is open: from now on, bytes pass between client and server.
        case established
        /// The proxy refuses, with this status.
        case refused(status: Int)
        /// The response isn't valid HTTP.
        case malformed(String)

        /// The close reason for the channel; `nil` if the tunnel is open.
        var closeReason: ChannelCloseReason? {
            switch self {
            case .established: nil
            case .refused(407): .proxy("it requires other credentials (status 407)")
            case .refused(let status): .proxy("it refused the tunnel with status \(status)")
            case .malformed(let text): .proxy(text)
            }
        }
    }

    private var head: [UInt8] = []
    private var status: Int?

    /// Parses more bytes; `nil` until the verdict is known.
    mutating func take(_ bytes: some Sequence<UInt8>) -> Verdict? {
        var rest = bytes.makeIterator()
        while let byte = rest.next() {
            guard head.count < Self.headBytesMax else { return .malformed("its response is too long") }
            head.append(byte)
            guard byte == UInt8(ascii: "\n") else { continue }
            if status == nil {
                guard let found = Self.status(head) else { return .malformed("its response is not HTTP/1") }
                guard (200..<300).contains(found) else { return .refused(status: found) }
                status = found
            }
            guard Self.endsHead(head) else { continue }
            // In TLS, the client sends first.
            return rest.next() == nil ? .established : .malformed("it sent data before the server could")
        }
        return nil
    }

    /// Parses a status line: `HTTP/1.1 200 Connection established`.
    private static func status(_ line: [UInt8]) -> Int? {
        let words = line.prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
            .split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count >= 2,
            words[0].elementsEqual("HTTP/1.1".utf8) || words[0].elementsEqual("HTTP/1.0".utf8),
            words[1].count == 3, words[1].allSatisfy({ (0x30...0x39).contains($0) }),
            let status = Int(String(decoding: words[1], as: UTF8.self)), status >= 100
        else { return nil }
        return status
    }

    private static func endsHead(_ head: [UInt8]) -> Bool {
        head.suffix(4).elementsEqual("\r\n\r\n".utf8) || head.suffix(2).elementsEqual("\n\n".utf8)
    }
}
