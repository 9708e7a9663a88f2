/// What a server serves: its routes, and how it words what it answers itself.
///
/// All closures run on event loops and must not block.
package struct Service: Sendable {
    /// The routes.
    package var router: Router
    /// Words the server's own answers; `plainText` unless given.
    package var refuse: ErrorResponder
    /// Called with each whole request before its route is looked up, to set `Request.id` for example.
    package var prepare: (@Sendable (inout Request) -> Void)?
    /// Called with each response before it is written, to add fields and to log: the only place that sees every answer.
    ///
    /// The request is nil when its head could not be read; the duration counts from the end of the request's body. A response to a client
    /// that has left passes here too, and then goes nowhere.
    package var finish: (@Sendable (Request?, inout Response, Duration) -> Void)?

    /// A service; what is not given stays out.
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

    /// Answers with the refusal's sentence and a line feed as `text/plain`.
    package static let plainText: ErrorResponder = { refusal, _ in
        Response(
            status: refusal.status, contentType: "text/plain; charset=utf-8",
            body: Array(refusal.sentence.utf8) + [UInt8(ascii: "\n")])
    }

    /// The answer to a refused request, with the status and the fields that HTTP wants.
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
