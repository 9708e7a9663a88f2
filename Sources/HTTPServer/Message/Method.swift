/// A request method (RFC 9110, section 9), case-sensitive.
///
/// Unknown methods are `other`; the router answers them like any method that a path doesn't support.
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

    /// Creates a method from any token.
    package init(_ name: String) {
        self = Method.known.first { $0.description == name } ?? .other(name)
    }

    /// The name on the wire.
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
