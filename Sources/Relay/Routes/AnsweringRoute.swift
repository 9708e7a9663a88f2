import HTTPServer

/// An asynchronous route.
///
/// Created per request, on its loop.
protocol AnsweringRoute: SendableMetatype {
    /// The route on a loop's services.
    init(services: LoopServices)

    /// Returns the response; `trace` collects details for the log line.
    func answer(_ request: Request, _ trace: inout RequestTrace) async throws(APIError) -> Reply
}
