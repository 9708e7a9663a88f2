import HTTPServer
import PageFiles

/// The web page of clients/web, served from memory under ``RouteName/page``'s path.
///
/// Only the paths in its table exist, so no request can reach another file.
struct Page: Sendable {
    /// The handlers of `GET`, by path.
    let handlers: [(path: String, handler: SyncHandler)]

    /// Compresses the files.
    init(_ files: [PageFile] = PageFile.all()) {
        let folder = RouteName.page.path
        var handlers: [(path: String, handler: SyncHandler)] = [
            (String(folder.dropLast()), Self.redirect)
        ]
        for file in files {
            let resource = PageResource(file)
            let paths = file.path == "index.html" ? [folder, folder + file.path] : [folder + file.path]
            handlers += paths.map { ($0, { request in resource.response(to: request) }) }
        }
        self.handlers = handlers
    }

    /// Adds the final slash, without which the page's addresses would be relative to another folder.
    ///
    /// The location is relative, because a proxy may serve the relay below another path.
    @Sendable private static func redirect(_: Request) -> Response {
        let last = RouteName.page.path.split(separator: "/").last ?? ""
        return Response(status: 308, headers: Headers([("Location", "\(last)/")]))
    }
}
