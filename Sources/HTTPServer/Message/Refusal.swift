/// Why the server answers a request itself, without a handler: a closed set.
///
/// What the caller reads is made by an `ErrorResponder` from this value; `status` is the server's in any case.
package enum Refusal: Hashable, Sendable {
    /// 400: the request line isn't `method SP target SP version CRLF`.
    case malformedRequestLine
    /// 400: the target has a byte or a form that RFC 9112, section 3.2, doesn't allow here.
    case malformedTarget
    /// 400: a field line isn't `name ":" value CRLF`, or is folded.
    case malformedHeader
    /// 400: `Host` is absent, there twice, not a host, or another than the target's.
    case invalidHost
    /// 400: `Content-Length` and `Transfer-Encoding` don't say, without doubt, how long the body is.
    case invalidFraming
    /// 400: the chunked coding is broken.
    case malformedChunk
    /// 404: no route has the path.
    case notFound
    /// 405: the path has other methods, listed here.
    case methodNotAllowed(allowed: [Method])
    /// 408: the head wasn't there in `Limits.headDeadline`.
    case headTimeout
    /// 408: the body wasn't there in `Limits.bodyDeadline`.
    case bodyTimeout
    /// 413: the body, or the overhead of its chunks, is over its limit.
    case bodyTooLarge
    /// 414: the request line is over its limit.
    case requestLineTooLong
    /// 417: an expectation other than `100-continue`.
    case unsupportedExpectation
    /// 431: too many fields, or too many bytes of them, in the head or in the trailer.
    case headersTooLarge
    /// 501: a transfer coding beside `chunked`.
    case unsupportedTransferCoding
    /// 501: `CONNECT`, which asks for a tunnel.
    case tunnelNotSupported
    /// 503: as many connections as are allowed, in all or from this address, are open.
    case tooManyConnections
    /// 505: a version other than HTTP/1.1 and HTTP/1.0.
    case unsupportedVersion

    /// The status of the answer.
    package var status: Status {
        switch self {
        case .malformedRequestLine, .malformedTarget, .malformedHeader, .invalidHost, .invalidFraming,
            .malformedChunk:
            400
        case .notFound: 404
        case .methodNotAllowed: 405
        case .headTimeout, .bodyTimeout: 408
        case .bodyTooLarge: 413
        case .requestLineTooLong: 414
        case .unsupportedExpectation: 417
        case .headersTooLarge: 431
        case .unsupportedTransferCoding, .tunnelNotSupported: 501
        case .tooManyConnections: 503
        case .unsupportedVersion: 505
        }
    }

    /// True when nobody can say where the next request would begin: the connection closes after the answer.
    ///
    /// That is so for all but a router's refusals, since a refused request isn't read to its end.
    package var leavesFramingInDoubt: Bool {
        switch self {
        case .notFound, .methodNotAllowed: false
        default: true
        }
    }

    /// One sentence for a person; it holds nothing the client sent.
    package var sentence: String {
        switch self {
        case .malformedRequestLine: "The request line is malformed."
        case .malformedTarget: "The request target is malformed."
        case .malformedHeader: "A header field is malformed."
        case .invalidHost: "The Host header is missing or invalid."
        case .invalidFraming: "The length of the body is not clear."
        case .malformedChunk: "The chunked body is malformed."
        case .notFound: "There is nothing at this path."
        case .methodNotAllowed: "This path does not have this method."
        case .headTimeout: "The request's head took too long."
        case .bodyTimeout: "The request's body took too long."
        case .bodyTooLarge: "The body is too large."
        case .requestLineTooLong: "The request line is too long."
        case .unsupportedExpectation: "The expectation is not supported."
        case .headersTooLarge: "The header fields are too large."
        case .unsupportedTransferCoding: "The transfer coding is not supported."
        case .tunnelNotSupported: "This server makes no tunnels."
        case .tooManyConnections: "Too many connections are open."
        case .unsupportedVersion: "The HTTP version is not supported."
        }
    }
}

/// Makes the answer to a refused request.
///
/// The request is there when its head was read: always for a router's refusals, sometimes for 408, 413 and 417. The server sets
/// the status and `Allow` afterwards, so a responder can't change either.
package typealias ErrorResponder = @Sendable (Refusal, Request?) -> Response
