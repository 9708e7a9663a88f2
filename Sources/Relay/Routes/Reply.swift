import HTTPServer
import JSON

/// A route's response: a status and a JSON body.
struct Reply: Sendable, Equatable {
    var status = 200
    var body: [UInt8]
    var retryAfterSeconds: Int?
    /// The error code; `nil` for a success.
    var code: ErrorCode?

    /// `{"ok": true}`.
    static let ok = Reply(body: Array(#"{"ok":true}"#.utf8))

    /// The response to an event that is stored and sent later.
    static let accepted = Reply(status: 202, body: ok.body)

    /// A response with a given body.
    init(status: Int = 200, body: [UInt8]) {
        self.status = status
        self.body = body
    }

    /// `{"ok": true}` with the names of fields that have no effect.
    init(ignored: [RequestField]) {
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("ok", true)
        writer.member("ignored", ignored)
        writer.endObject()
        self.init(body: writer.finish())
    }

    /// The response to an error.
    init(_ error: APIError) {
        code = error.code
        status = error.code.status
        retryAfterSeconds = error.retryAfterSeconds ?? error.code.retryAfterSeconds
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("ok", false)
        writer.member("error", error.sentence)
        writer.member("code", error.code.rawValue)
        if let field = error.field { writer.member("field", field.rawValue) }
        writer.endObject()
        body = writer.finish()
    }

    /// The response for the HTTP server; requests on the admin listener have no identifier.
    func response(requestID: String?) -> Response {
        var headers = Headers()
        if !body.isEmpty { headers.append("Content-Type", "application/json") }
        if let requestID { headers.append("X-Request-ID", requestID) }
        if code == .unauthorized || code == .invalidToken { headers.append("WWW-Authenticate", "Bearer") }
        if let retryAfterSeconds { headers.append("Retry-After", String(retryAfterSeconds)) }
        return Response(status: Status(rawValue: status), headers: headers, body: body)
    }
}
