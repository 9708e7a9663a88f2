/// What a handler answers.
///
/// Framing belongs to the server: it writes `Content-Length`, `Connection`, `Date` and `Transfer-Encoding` itself and
/// leaves out fields of these names that a handler set.
package struct Response: Sendable {
    /// The status code.
    package var status: Status
    /// The fields beyond framing, such as `Content-Type`.
    package var headers: Headers
    /// The whole body; it is measured but not sent for `HEAD`, and left out where the status has none.
    package var body: [UInt8]
    /// Asks for the connection to be closed once this response is written.
    package var closesConnection = false

    /// A response; a literal of header pairs can be given through `Headers(_:)`.
    package init(status: Status = .ok, headers: Headers = Headers(), body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// A response with one `Content-Type`.
    package init(status: Status = .ok, contentType: String, body: [UInt8]) {
        self.init(status: status, headers: Headers([("Content-Type", contentType)]), body: body)
    }
}
