/// A request method (RFC 9110, section 9), compared case-sensitively.
///
/// Methods without a case of their own are `other`: whether a path has them is the router's business, so that an
/// unknown method is answered like any other that the path lacks.
package enum Method: Hashable, Sendable, CustomStringConvertible {
    case get
    case head
    case post
    case put
    case delete
    case patch
    case options
    case trace
    case connect
    case other(String)

    /// The method of that name; any token is one.
    package init(_ name: String) {
        self = Method.known.first { $0.description == name } ?? .other(name)
    }

    /// The name as it stands on the wire.
    package var description: String {
        switch self {
        case .get: "GET"
        case .head: "HEAD"
        case .post: "POST"
        case .put: "PUT"
        case .delete: "DELETE"
        case .patch: "PATCH"
        case .options: "OPTIONS"
        case .trace: "TRACE"
        case .connect: "CONNECT"
        case .other(let name): name
        }
    }

    private static let known: [Method] = [
        .get, .head, .post, .put, .delete, .patch, .options, .trace, .connect,
    ]
}
