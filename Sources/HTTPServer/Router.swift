package import Network

/// Answers a request on the loop that read it.
///
/// Its task is cancelled when the client leaves. It must bound its own time.
package typealias Handler = @Sendable (Request, isolated EventLoop) async -> Response

/// Answers a request at once, without a task; it must not block.
package typealias SyncHandler = @Sendable (Request) -> Response

/// What to do with a request.
package enum Route: Sendable {
    /// Answer it at once, on the path that needs no task.
    case sync(SyncHandler)
    /// Answer it in a task on its loop.
    case async(Handler)
    /// Refuse it.
    case refuse(Refusal)
}

/// Finds the handler of a method and a path.
///
/// Paths match byte for byte. `HEAD` is answered by the handler of `GET` (the server leaves the body out). A path nobody has is
/// `notFound`; a method the path lacks, known or not, is `methodNotAllowed` with the methods it has. Routes are few: they are
/// looked through one by one.
package struct Router: Sendable {
    private struct Path: Sendable {
        let bytes: [UInt8]
        var routes: [(method: Method, route: Route)]
    }

    private var paths: [Path] = []

    /// No routes.
    package init() {}

    /// Adds an asynchronous route; a second one for the same method and path replaces the first.
    package mutating func on(_ method: Method, _ path: String, _ handler: @escaping Handler) {
        add(method, path, .async(handler))
    }

    /// Adds a route answered at once; a second one for the same method and path replaces the first.
    package mutating func onSync(_ method: Method, _ path: String, _ handler: @escaping SyncHandler) {
        add(method, path, .sync(handler))
    }

    /// The route of a request.
    package func route(_ request: Request) -> Route {
        guard let path = paths.first(where: { request.hasPath($0.bytes) }) else {
            // The server as a whole (RFC 9112, section 3.2.4): its methods are those of all its paths.
            guard request.path == "*" else { return .refuse(.notFound) }
            return .refuse(.methodNotAllowed(allowed: allowed(paths.flatMap(\.routes))))
        }
        if let found = path.routes.first(where: { $0.method == request.method }) { return found.route }
        if request.method == .head, let found = path.routes.first(where: { $0.method == .get }) {
            return found.route
        }
        return .refuse(.methodNotAllowed(allowed: allowed(path.routes)))
    }

    private mutating func add(_ method: Method, _ path: String, _ route: Route) {
        let bytes = Array(path.utf8)
        guard let index = paths.firstIndex(where: { $0.bytes == bytes }) else {
            paths.append(Path(bytes: bytes, routes: [(method, route)]))
            return
        }
        paths[index].routes.removeAll { $0.method == method }
        paths[index].routes.append((method, route))
    }

    /// The methods, each once, `HEAD` after `GET` where only `GET` was given.
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
