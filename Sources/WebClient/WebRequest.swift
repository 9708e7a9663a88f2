/// A request that a command sends to an HTTP server.
package struct WebRequest: Sendable {
    /// Whom a request trusts under TLS.
    package enum Trust: Sendable, Equatable {
        /// The system's authorities.
        case system
        /// The PEM certificates of a file, and no others.
        case file(String)
        /// Whoever answers: only for a listener of this machine, whose certificate is for the name others know it by.
        case anyone
    }

    /// The whole URL, `http` or `https`.
    package var url: String
    /// What is sent with `POST` as JSON; `nil` asks with `GET`.
    package var body: [UInt8]?
    /// Sent as `Authorization: Bearer`; `nil` sends none.
    package var bearerToken: String?
    /// Whom it trusts.
    package var trust = Trust.system
    /// Whether the environment's proxies are left out: for a server on this machine.
    package var isLocal = false
    /// For all of it: the name, the connection, TLS and the answer.
    package var timeout: Duration
    /// For the name, the connection and TLS.
    package var connectTimeout: Duration = .seconds(10)
    /// Bytes of an answer's body; a longer one is a failure.
    package var answerBytesMax = 1 << 20

    /// A request for a URL.
    package init(url: String, timeout: Duration) {
        self.url = url
        self.timeout = timeout
    }
}

/// A server's answer, whatever its status says.
package struct WebAnswer: Sendable, Equatable {
    /// The HTTP status.
    package let status: Int
    /// The body as it came.
    package let body: [UInt8]

    /// An answer of its parts.
    package init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }
}

/// Why there is no answer.
package struct WebFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// What kind of trouble it is.
    package enum Kind: Sendable, Equatable {
        /// The URL makes no sense.
        case url
        /// The name has no address.
        case name
        /// Nothing listens there, or it can't be reached.
        case connect
        /// The time was over.
        case timeout
        /// TLS failed, or its certificate isn't trusted.
        case tls
        /// Something answers that isn't what it should be.
        case answer
    }

    /// What kind of trouble it is.
    package let kind: Kind
    /// libcurl's words, which repeat no more than host and port.
    package let description: String
}
