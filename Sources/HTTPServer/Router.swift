package import Network

/// Answers a request on its connection's loop.
///
/// Its task is cancelled when the client disconnects. It must limit its own running time.
package typealias Handler = @Sendable (Request, isolated EventLoop) async -> Response

/// Answers a request immediately, without a task; it must not block.
package typealias SyncHandler = @Sendable (Request) -> Response

/// What to do with a request.
package enum Route: Sendable {
    /// Answer it immediately, without a task.
    case sync(SyncHandler)
    /// Answer it in a task on its loop.
    case async(Handler)
    /// Refuse it.
    case refuse(Refusal)
}

/// Finds the handler for a method and a path.
///
/// Paths match byte by byte. `HEAD` uses the handler for `GET` (the server omits the body). An unknown path is refused
/// with `notFound`, an unsupported method with `methodNotAllowed` and the supported methods. The search is linear,
/// because there are few routes.
package struct Router: Sendable {
    private struct Path: Sendable {
        let bytes: [UInt8]
        var routes: [(method: Method, route: Route)]
    }

    private var paths: [Path] = []
    /// Answers preflight requests, in which browsers ask what a page from another origin may send.
    ///
    /// Source: Fetch Standard, "CORS-preflight request". If `nil`, they are treated like any other `OPTIONS`.
    package var preflight: SyncHandler?

    /// Returns the handler for a path that isn't in the table, such as one with a variable part; `nil` if there is
    /// none.
    package var pattern: (@Sendable (Request) -> Handler?)?

    /// Answers requests for all paths without a route; if `nil`, they are refused with `notFound`.
    package var fallback: Handler?

    /// Creates a router without routes.
    package init() {}

    /// Adds an asynchronous route or replaces the one for the same method and path.
    package mutating func on(_ method: Method, _ path: String, _ handler: @escaping Handler) {
        add(method, path, .async(handler))
    }

    /// Adds a synchronous route or replaces the one for the same method and path.
    package mutating func onSync(_ method: Method, _ path: String, _ handler: @escaping SyncHandler) {
        add(method, path, .sync(handler))
    }

    /// Returns the route for a request.
    package func route(_ request: Request) -> Route {
        if let preflight, request.isPreflight { return .sync(preflight) }
        guard let path = paths.first(where: { request.hasPath($0.bytes) }) else {
            if let handler = pattern?(request) { return .async(handler) }
            if let fallback { return .async(fallback) }
            // `*` is the server as a whole (RFC 9112, section 3.2.4), which allows the methods of all its paths.
            guard request.path == "*" else { return .refuse(.notFound) }
            return .refuse(.methodNotAllowed(allowed: methods))
        }
        if let found = path.routes.first(where: { $0.method == request.method }) { return found.route }
        if request.method == .head, let found = path.routes.first(where: { $0.method == .get }) {
            return found.route
        }
        return .refuse(.methodNotAllowed(allowed: allowed(path.routes)))
    }

    /// The methods of all paths, as listed in `Allow`.
    package var methods: [Method] { allowed(paths.flatMap(\.routes)) }

    private mutating func add(_ method: Method, _ path: String, _ route: Route) {
        let bytes = Array(path.utf8)
        guard let index = paths.firstIndex(where: { $0.bytes == bytes }) else {
            paths.append(Path(bytes: bytes, routes: [(method, route)]))
            return
        }
        paths[index].routes.removeAll { $0.method == method }
        paths[index].routes.append((method, route))
    }

    /// The methods without duplicates, with `HEAD` added after `GET`.
    private func allowed(_ routes: [(method: Method, route: Route)]) -> [Method] {
        var methods: [Method] = []
        for (method, _) in routes {
            for each in method == .get ? [.get, .head] : [method] where !methods.contains(each) {
                methods.append(each)
            }
        }
        return methods
    }
}
