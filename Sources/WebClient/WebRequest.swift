/// An outgoing HTTP request.
package struct WebRequest: Sendable {
    /// Which certificates a request trusts.
    package enum Trust: Sendable, Equatable {
        /// The system's certificate authorities.
        case system
        /// Only the PEM certificates in a file.
        case file(String)
        /// Any certificate: only for a listener on this machine, whose certificate is issued for its public name.
        case anyone
    }

    /// The full URL, `http` or `https`.
    package var url: String
    /// The Unix socket to connect to instead of the URL's host and port.
    package var unixPath: String?
    /// The JSON body of a `POST`; `nil` sends a `GET`.
    package var body: [UInt8]?
    /// The method, if it is neither `POST` nor `GET`.
    package var method: String?
    /// Sent as `Authorization: Bearer`; `nil` sends none.
    package var bearerToken: String?
    /// Sent as `Authorization: Basic`, if there is no bearer token.
    package var credentials: WebCredentials?
    /// Additional headers, each as `Name: value`.
    package var headers: [String] = []
    /// The media type that the request accepts.
    package var accept = "application/json"
    /// Which certificates the request trusts.
    package var trust = Trust.system
    /// Whether to ignore proxies set in the environment, as for a server on this machine.
    package var isLocal = false
    /// The time limit for the whole request; zero means none, as for streams.
    package var timeout: Duration
    /// The maximum time without receiving data; `nil` for no separate limit.
    package var silenceLimit: Duration?
    /// The time limit for name resolution, connection and TLS.
    package var connectTimeout: Duration = .seconds(10)
    /// The maximum size of the response body; a longer body is an error.
    package var answerBytesMax = 1 << 20

    /// Creates a request for a URL.
    package init(url: String, timeout: Duration) {
        self.url = url
        self.timeout = timeout
    }
}

/// A user name and a password, for HTTP's basic authentication (RFC 7617).
package struct WebCredentials: Sendable, Equatable {
    package let user: String
    package let password: String

    /// Creates credentials from their parts.
    package init(user: String, password: String) {
        self.user = user
        self.password = password
    }
}

/// A server's response, whatever its status.
package struct WebAnswer: Sendable, Equatable {
    /// The HTTP status.
    package let status: Int
    /// The `Content-Type`, if there is one.
    package var contentType: String?
    /// The `Retry-After`; zero if there is none.
    package var retryAfter: Duration = .zero
    /// The body as received; empty if it was streamed.
    package let body: [UInt8]

    /// Creates a response from its parts.
    package init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }

    /// Whether the body has a given media type, such as `application/json`.
    package func isOfType(_ type: String) -> Bool {
        contentType?.lowercased().prefix { $0 != ";" && $0 != " " } ?? "" == type
    }
}

/// Receives the body of a streamed response, on the request's thread.
package protocol WebStreamReader: Sendable {
    /// Called once, before the first bytes; returning false ends the request.
    func begin(_ answer: WebAnswer) -> Bool
    /// Called with each piece of the body, valid only during the call; returning false ends the request.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool
}

/// Why a request failed.
package struct WebFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of failure.
    package enum Kind: Sendable, Equatable {
        /// The URL is invalid.
        case url
        /// The host name can't be resolved.
        case name
        /// The host refused the connection or is unreachable.
        case connect
        /// The time limit was exceeded, or nothing was received within the `silenceLimit`.
        case timeout
        /// TLS failed, or the certificate isn't trusted.
        case tls
        /// The response is invalid or too long, the reader ended the stream, or the task was cancelled.
        case answer
    }

    /// The kind of failure.
    package let kind: Kind
    /// The message, usually libcurl's, which reveals no more about the request than its host and port.
    package let description: String
}
