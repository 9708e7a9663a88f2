import HTTPServer
import Network
import Storage

/// Decides which requests the admin listener answers.
///
/// A web page that an operator visits can send requests to 127.0.0.1, and DNS rebinding lets it read the responses. So
/// Host must be a name that can't be an attacker's domain, and requests that change data must not come from any page
/// other than the listener's own console.
struct AdminGuard: Sendable {
    /// Why a request is refused.
    enum Refusal: Hashable, Sendable {
        /// The Host header names a domain that isn't in the settings.
        case host
        /// The bearer token is missing or wrong.
        case token
        /// The request came from a web page other than the console.
        case origin
        /// The body isn't declared as JSON, so a page could have sent it without a CORS preflight.
        case contentType
        /// The limit on changes per minute has been reached.
        case rate(wait: Duration)
    }

    /// Domains allowed in Host besides `localhost`, IP addresses and names without a dot.
    let hosts: Set<String>
    /// The token that clients must send as `Authorization: Bearer`; `nil` if none is required.
    let token: Secret?

    /// Why a request is refused before its handler runs; `nil` if it is allowed.
    ///
    /// - Parameter isOpen: Whether the route needs no token, like those for health probes.
    func refusal(of request: Request, isOpen: Bool, changesData: Bool) -> Refusal? {
        guard isKnown(host: request.headers["Host"]) else { return .host }
        guard isOpen || isAuthorized(request) else { return .token }
        guard changesData else { return nil }
        guard isFromNoOtherPage(request) else { return .origin }
        let type = request.headers["Content-Type"]?.split(separator: ";").first ?? ""
        guard type.lowercased().filter({ $0 != " " && $0 != "\t" }) == "application/json" else {
            return .contentType
        }
        return nil
    }

    private func isAuthorized(_ request: Request) -> Bool {
        token.map(request.hasBearer) ?? true
    }

    /// Whether the request came from the console, whose origin has the request's host and port, or from no web page at
    /// all.
    ///
    /// For changes, a name without a dot isn't enough, because the operator of the network's name server can rebind it.
    private func isFromNoOtherPage(_ request: Request) -> Bool {
        guard let origin = request.headers["Origin"] else { return true }
        guard let host = request.headers["Host"]?.lowercased(),
            ["http://" + host, "https://" + host].contains(origin.lowercased())
        else { return false }
        let name = Self.name(in: host)
        return name == "localhost" || SocketAddress(ip: name, port: 0) != nil || hosts.contains(name)
    }

    private func isKnown(host: String?) -> Bool {
        // HTTP/1.0, which browsers don't use, has no Host.
        guard let host else { return true }
        let name = Self.name(in: host)
        // Names without a dot belong to the local network; nobody can register them.
        return SocketAddress(ip: name, port: 0) != nil || !name.contains(".") || hosts.contains(name)
    }

    /// The host name in a Host header, without the port, in lower case.
    static func name(in host: String) -> String {
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") {
            return String(host[host.index(after: host.startIndex)..<end])
        }
        let name = host.prefix { $0 != ":" }.lowercased()
        return name.hasSuffix(".") ? String(name.dropLast()) : name
    }
}

/// Limits how often requests to the admin listener may change data.
struct AdminChanges: Sendable {
    private let access: AdminGuard
    private let fullAt = Lock(MonotonicTime(nanoseconds: 0))
    private let bucket = TokenBucket(perMinute: Bounds.adminChangesPerMinute)

    init(_ access: AdminGuard) {
        self.access = access
    }

    /// Why a request that changes data is refused; `nil` if it is allowed, in which case it is counted.
    func refusal(of request: Request, at now: MonotonicTime = .current) -> AdminGuard.Refusal? {
        if let refusal = access.refusal(of: request, isOpen: false, changesData: true) { return refusal }
        return fullAt.withLock { moment in
            switch bucket.take(fullAt: moment, at: now) {
            case .taken(let next):
                moment = next
                return nil
            case .refused(let wait): return .rate(wait: wait)
            }
        }
    }
}

extension AdminGuard.Refusal {
    /// The refusal's name in the log.
    var name: String {
        switch self {
        case .host: "host"
        case .token: "token"
        case .origin: "origin"
        case .contentType: "contentType"
        case .rate: "rate"
        }
    }

    /// The response: one plain-text sentence that says what to do.
    var response: Response {
        let (status, sentence): (Status, String) =
            switch self {
            case .host: (421, "This host name is not in RELAY_ADMIN_HOSTS.")
            case .token: (401, "Send RELAY_ADMIN_TOKEN as Authorization: Bearer.")
            case .origin:
                (
                    403,
                    "Only the console of this listener may change data here, at localhost, an IP address or a name in RELAY_ADMIN_HOSTS."
                )
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
