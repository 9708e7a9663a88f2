import HTTPServer
import Network
import Storage

/// Decides which requests the admin listener answers.
///
/// A web page that an operator visits can send requests to 127.0.0.1, and by DNS rebinding it can read the answers. So
/// the Host must be a name that no stranger's domain can have, and what changes data must not come from a page.
struct AdminGuard: Sendable {
    /// Why a request is refused.
    enum Refusal: Hashable, Sendable {
        /// The Host is a domain that the settings don't list.
        case host
        /// The bearer token is missing or wrong.
        case token
        /// A web page sent it.
        case origin
        /// The body isn't declared as JSON, so that a page could have sent it without asking first.
        case contentType
        /// Too many requests that change data came within a minute.
        case rate(wait: Duration)
    }

    /// Domains that may be in Host besides `localhost`, IP addresses and names without a dot.
    let hosts: Set<String>
    /// What clients must send as `Authorization: Bearer`; `nil` for no token.
    let token: Secret?

    /// Why a request is refused before its handler is called; `nil` if it may be answered.
    ///
    /// - Parameter isOpen: Whether it may go without the token: the health probes.
    func refusal(of request: Request, isOpen: Bool, changesData: Bool) -> Refusal? {
        guard isKnown(host: request.headers["Host"]) else { return .host }
        guard isOpen || isAuthorized(request) else { return .token }
        guard changesData else { return nil }
        guard request.headers["Origin"] == nil else { return .origin }
        let type = request.headers["Content-Type"]?.split(separator: ";").first ?? ""
        guard type.lowercased().filter({ $0 != " " && $0 != "\t" }) == "application/json" else {
            return .contentType
        }
        return nil
    }

    private func isAuthorized(_ request: Request) -> Bool {
        guard let token else { return true }
        guard let given = request.headers["Authorization"] else { return false }
        let parts = given.split(separator: " ", maxSplits: 1)
        return parts.count == 2 && parts[0].lowercased() == "bearer" && Secret(String(parts[1])) == token
    }

    private func isKnown(host: String?) -> Bool {
        // HTTP/1.0 has no Host, and no browser speaks it.
        guard let host else { return true }
        let name = Self.name(in: host)
        // A name without a dot is one of this network's: nobody can register it.
        return SocketAddress(ip: name, port: 0) != nil || !name.contains(".") || hosts.contains(name)
    }

    /// The name in a Host field, without the port, in lower case.
    static func name(in host: String) -> String {
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") {
            return String(host[host.index(after: host.startIndex)..<end])
        }
        let name = host.prefix { $0 != ":" }.lowercased()
        return name.hasSuffix(".") ? String(name.dropLast()) : name
    }
}

extension AdminGuard.Refusal {
    /// The answer, as text: one sentence that says what to do.
    var response: Response {
        let (status, sentence): (Status, String) =
            switch self {
            case .host: (421, "This host name is not in RELAY_ADMIN_HOSTS.")
            case .token: (401, "Send RELAY_ADMIN_TOKEN as Authorization: Bearer.")
            case .origin: (403, "Web pages may not change data here.")
            case .contentType: (415, "Send the body as application/json.")
            case .rate: (429, "Too many requests; try again later.")
            }
        var response = Response(
            status: status, contentType: "text/plain; charset=utf-8", body: Array((sentence + "\n").utf8))
        if self == .token { response.headers.append("WWW-Authenticate", "Bearer") }
        if case .rate(let wait) = self {
            response.headers.append("Retry-After", String(max(1, Int(wait.components.seconds) + 1)))
        }
        return response
    }
}
