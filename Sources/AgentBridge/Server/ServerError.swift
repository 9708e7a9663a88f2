/// Why the OpenCode server can't be used, and what to do about it.
enum ServerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Nothing answers at the address.
    case unreachable(String, isTimeout: Bool)
    /// The server rejected the password.
    case unauthorized
    /// The server isn't an OpenCode server.
    case unknownServer(String)
    /// A request failed with this status.
    case status(Int)
    /// An answer isn't the expected JSON or event stream.
    case answer(String)

    var description: String {
        switch self {
        case .unreachable(let reason, _):
            "no OpenCode server answers (\(reason)). Without --port, `opencode` doesn't listen: start "
                + "`opencode --port 4096`, or `opencode serve` and `opencode attach`, or set --opencode-url"
        case .unauthorized:
            "the OpenCode server rejected the password; set OPENCODE_PASSWORD (2.x), or "
                + "OPENCODE_SERVER_USERNAME and OPENCODE_SERVER_PASSWORD (1.x), as for the server"
        case .unknownServer(let what):
            "this is not an OpenCode 1.x or 2.x server: \(what); set --opencode-url to the server's address"
        case .status(let status): "the OpenCode server returned status \(status)"
        case .answer(let what): "the OpenCode server's response is invalid: \(what)"
        }
    }

    /// Whether the server answers but can't fulfil the request, so that retrying soon doesn't help.
    var isRefusal: Bool {
        switch self {
        case .answer: true
        case .status: !isPassing
        case .unreachable, .unauthorized, .unknownServer: false
        }
    }

    /// Whether retrying soon may help.
    var isPassing: Bool {
        switch self {
        case .unreachable: true
        case .status(let status): status >= 500 || status == 429
        default: false
        }
    }
}
