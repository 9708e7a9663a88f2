import HTTPServer
import JSON

/// `GET` and `PUT /v1/log-level` on the admin listener: shows the log level, or sets it until the relay restarts.
struct LogLevelRoute: Sendable {
    let log: Log
    let access: AdminGuard
    let changes: AdminChanges

    /// Adds both methods to the listener's routes.
    func add(to router: inout Router) {
        router.onSync(.get, AdminServer.Path.logLevel.rawValue) { request in
            access.refusal(of: request, isOpen: false, changesData: false)?.response ?? current
        }
        router.onSync(.put, AdminServer.Path.logLevel.rawValue) { request in
            changes.refusal(of: request)?.response ?? change(request)
        }
    }

    private func change(_ request: Request) -> Response {
        let body = try? JSON.parse(request.body, maxBytes: Bounds.requestBodyBytesMax)
        guard let name = body?["level"]?.string, let level = LogLevel(rawValue: name) else {
            let names = LogLevel.allCases.map(\.rawValue).joined(separator: ", ")
            return Response(
                status: 400, contentType: "text/plain; charset=utf-8",
                body: Array("Send {\"level\": …} with one of \(names).\n".utf8))
        }
        let old = log.level
        // Logged at the more verbose of the two levels, so that the line is always visible.
        log.level = min(level, old)
        log(.warning, "log.level", [.note("level", level.rawValue), .note("was", old.rawValue)])
        log.level = level
        return current
    }

    private var current: Response {
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("level", log.level.rawValue)
        writer.endObject()
        return Reply(body: writer.finish()).response(requestID: nil)
    }
}
