/// A handler's response.
///
/// The server adds the framing: it writes `Content-Length`, `Connection`, `Date` and `Transfer-Encoding` itself and
/// drops handlers' fields with these names.
package struct Response: Sendable {
    /// The status code.
    package var status: Status
    /// The fields other than framing fields, such as `Content-Type`.
    package var headers: Headers
    /// The complete body; for `HEAD` only its length is sent, and it is omitted for statuses without a body.
    package var body: [UInt8]
    /// Whether to close the connection after this response.
    package var closesConnection = false
    /// Whether to close the connection instead of sending this response, a fault that the simulator can inject.
    package var isWithheld = false

    /// Creates a response; `Headers(_:)` takes a literal of header pairs.
    package init(status: Status = .ok, headers: Headers = Headers(), body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// Creates a response with a `Content-Type`.
    package init(status: Status = .ok, contentType: String, body: [UInt8]) {
        self.init(status: status, headers: Headers([("Content-Type", contentType)]), body: body)
    }
}
