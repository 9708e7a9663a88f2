/// A response status code (RFC 9110, section 15).
package struct Status: RawRepresentable, Hashable, Sendable, ExpressibleByIntegerLiteral {
    /// The three digits.
    package let rawValue: Int

    /// Accepts codes from 100 to 999; others become 500, because they can't be sent.
    package init(rawValue: Int) {
        self.rawValue = (100...999).contains(rawValue) ? rawValue : 500
    }

    /// Creates a status from an integer literal, as in `response.status = 404`.
    package init(integerLiteral value: Int) {
        self.init(rawValue: value)
    }

    /// Whether responses with this status have no body (RFC 9112, section 6.3): 1xx, 204 and 304.
    package var hasNoBody: Bool {
        rawValue < 200 || rawValue == 204 || rawValue == 304
    }

    /// The reason phrase, for human readers; clients ignore it.
    package var reason: String {
        switch rawValue {
        case 100: "Continue"
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 304: "Not Modified"
        case 308: "Permanent Redirect"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 411: "Length Required"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 417: "Expectation Failed"
        case 422: "Unprocessable Content"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        default: ""
        }
    }
}

extension Status {
    /// 200.
    package static let ok: Status = 200
    /// 404.
    package static let notFound: Status = 404
    /// 500.
    package static let internalServerError: Status = 500
    /// 503.
    package static let serviceUnavailable: Status = 503
}
