/// A server's routes and the text of its own responses.
///
/// All closures run on event loops and must not block.
package struct Service: Sendable {
    /// The routes.
    package var router: Router
    /// Creates the server's own responses; `plainText` by default.
    package var refuse: ErrorResponder
    /// Called with each complete request before routing, for example to set `Request.id`.
    package var prepare: (@Sendable (inout Request) -> Void)?
    /// Called with each response before it is written, to add fields and to log: the only place that sees every
    /// response.
    ///
    /// The request is nil if its head could not be read; the duration starts at the end of the request's body. Also
    /// called for a client that has disconnected, whose response is dropped.
    package var finish: (@Sendable (Request?, inout Response, Duration) -> Void)?

    /// Creates a service.
    package init(
        router: Router, refuse: @escaping ErrorResponder = Service.plainText,
        prepare: (@Sendable (inout Request) -> Void)? = nil,
        finish: (@Sendable (Request?, inout Response, Duration) -> Void)? = nil
    ) {
        self.router = router
        self.refuse = refuse
        self.prepare = prepare
        self.finish = finish
    }

    /// Answers with the refusal's message and a line feed as `text/plain`.
    package static let plainText: ErrorResponder = { refusal, _ in
        Response(
            status: refusal.status, contentType: "text/plain; charset=utf-8",
            body: Array(refusal.sentence.utf8) + [UInt8(ascii: "\n")])
    }

    /// The response to a refused request, with its status and required fields.
    func response(to refusal: Refusal, _ request: Request?) -> Response {
        var response = refuse(refusal, request)
        response.status = refusal.status
        if case .methodNotAllowed(let allowed) = refusal {
            response.headers.remove("Allow")
            response.headers.append("Allow", allowed.map(\.description).joined(separator: ", "))
        }
        if refusal.leavesFramingInDoubt { response.closesConnection = true }
        return response
    }
}
