/// Why the server answers a request itself, without a handler.
///
/// An `ErrorResponder` turns it into a response; the server sets `status`.
package enum Refusal: Hashable, Sendable {
    /// 400: the request line isn't `method SP target SP version CRLF`.
    case malformedRequestLine
    /// 400: the target contains a byte or has a form that RFC 9112, section 3.2, doesn't allow.
    case malformedTarget
    /// 400: a field line isn't `name ":" value CRLF`, or is folded.
    case malformedHeader
    /// 400: `Host` is missing, repeated, invalid, or differs from the target's host.
    case invalidHost
    /// 400: `Content-Length` and `Transfer-Encoding` don't determine the length of the body.
    case invalidFraming
    /// 400: the chunked coding is malformed.
    case malformedChunk
    /// 404: no route matches the path.
    case notFound
    /// 405: the path supports only the methods listed here.
    case methodNotAllowed(allowed: [Method])
    /// 408: the head was not received within `Limits.headDeadline`.
    case headTimeout
    /// 408: the body was not received within `Limits.bodyDeadline`.
    case bodyTimeout
    /// 413: the body, or the overhead of its chunks, is over its limit.
    case bodyTooLarge
    /// 414: the request line is over its limit.
    case requestLineTooLong
    /// 417: an expectation other than `100-continue`.
    case unsupportedExpectation
    /// 431: the head or trailer has too many fields or bytes.
    case headersTooLarge
    /// 501: a transfer coding other than `chunked`.
    case unsupportedTransferCoding
    /// 501: `CONNECT`, which requests a tunnel.
    case tunnelNotSupported
    /// 503: too many connections are open, in total or from this address.
    case tooManyConnections
    /// 505: a version other than HTTP/1.1 and HTTP/1.0.
    case unsupportedVersion

    /// The status of the response.
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

    /// Whether the start of the next request is unknown, so that the connection closes after the response.
    ///
    /// True for all but the router's refusals, because in all other cases the request isn't read to its end.
    package var leavesFramingInDoubt: Bool {
        switch self {
        case .notFound, .methodNotAllowed: false
        default: true
        }
    }

    /// A message for the client; contains nothing that the client sent.
    package var sentence: String {
        switch self {
        case .malformedRequestLine: "The request line is malformed."
        case .malformedTarget: "The request target is malformed."
        case .malformedHeader: "A header field is malformed."
        case .invalidHost: "The Host header is missing or invalid."
        case .invalidFraming: "The length of the body is ambiguous."
        case .malformedChunk: "The chunked body is malformed."
        case .notFound: "There is nothing at this path."
        case .methodNotAllowed: "This path does not support this method."
        case .headTimeout: "The request head was not received in time."
        case .bodyTimeout: "The request body was not received in time."
        case .bodyTooLarge: "The body is too large."
        case .requestLineTooLong: "The request line is too long."
        case .unsupportedExpectation: "The expectation is not supported."
        case .headersTooLarge: "The header fields are too large."
        case .unsupportedTransferCoding: "The transfer coding is not supported."
        case .tunnelNotSupported: "Tunnels (CONNECT) are not supported."
        case .tooManyConnections: "Too many connections are open."
        case .unsupportedVersion: "The HTTP version is not supported."
        }
    }
}

/// Creates the response to a refused request.
///
/// The responder receives the request if its head was read: always when the router refuses it and for 413 and 417,
/// sometimes for 400, 408 and 431. The server sets the status and `Allow` afterwards, so a responder can't change
/// either.
package typealias ErrorResponder = @Sendable (Refusal, Request?) -> Response
