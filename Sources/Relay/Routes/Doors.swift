import HTTPServer
import JSON
import Programs
import Storage

/// The doors: requests that the senders of other relays make (docs/guide/senders.md).
///
/// The paths of ntfy and Bark have no prefix, so this decides which of them are theirs. The router asks only for paths
/// without a route of the relay's own.
enum Doors {
    /// Words that are no ntfy topics, because the relay uses them or may in later versions.
    static let reserved: Set<String> = [
        "admin", "api", "app", "auth", "config", "docs", "health", "healthz", "info", "login", "mcp",
        "message",
        "metrics", "ping", "push", "ready", "register", "static", "user", "v1", "v2", "version", "ws",
    ]

    /// The door of a request; `nil` if it is at none.
    static func door(_ method: Method, _ path: String) -> RouteName? {
        let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map(
            String.init)
        let isPublishing = method == .post || method == .put
        switch (segments, method) {
        case (["message"], .post): return .gotify
        case (["push"], .post): return .bark
        case (["ping"], .get), (["version"], .get): return .doorProbe
        case (["--", "api", "v2", "push", "send"], .post): return .expoSend
        case (["--", "api", "v2", "push", "getReceipts"], .post): return .expoReceipts
        case ([""], _) where isPublishing: return .ntfy
        default: break
        }
        guard let first = segments.first else { return nil }
        if AccessTokenText.digest(of: Array(first.utf8)) != nil {
            // A token in the path; ntfy's topics aren't as long as one by chance.
            return segments.count <= 4 && (method == .get || method == .post) ? .barkPath : nil
        }
        return isPublishing && segments.count == 1 && isTopic(first) ? .ntfy : nil
    }

    /// Whether a text is a topic by ntfy's rule, and no word of the relay's.
    static func isTopic(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && !reserved.contains(text.lowercased())
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}

/// `GET /ping` and `GET /version`, with which senders look whether a relay is there.
struct DoorProbeRoute: AnsweringRoute {
    let services: LoopServices

    func answer(_ request: Request, _ trace: inout RequestTrace) async throws(APIError) -> Reply {
        trace.isRoutine = true
        let answer: JSON.Value =
            if request.path == "/ping" {
                // Bark's.
                [
                    "code": 200, "message": "pong",
                    "timestamp": .int(services.shared.clock.now / 1_000),
                ]
            } else {
                // Gotify's.
                ["version": .string(Version.current), "commit": "", "buildDate": ""]
            }
        return Reply(body: answer.encoded())
    }
}

/// The values of a query or of a form (URL Standard, "application/x-www-form-urlencoded").
struct FormValues: Sendable {
    private var values: [String: String] = [:]

    init(_ text: String) {
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
                PercentEscapes.decode(String($0.map { $0 == "+" ? " " : $0 }))
            }
            guard let name = parts[0], values[name.lowercased()] == nil else { continue }
            values[name.lowercased()] = parts.count == 2 ? parts[1] : ""
        }
    }

    /// The values of a body that is a form, also one of several parts (RFC 7578), as `curl -F` sends; `nil` for others.
    init?(form request: Request) {
        let type = request.headers["Content-Type"] ?? ""
        if type.lowercased().hasPrefix("application/x-www-form-urlencoded") {
            self.init(String(decoding: request.body, as: UTF8.self))
            return
        }
        guard type.lowercased().hasPrefix("multipart/form-data"), let mark = type.firstRange(of: "boundary=")
        else {
            return nil
        }
        let boundary = type[mark.upperBound...].prefix { $0 != ";" }.filter { $0 != "\"" }
        // At most 70 characters (RFC 2046, section 5.1.1). Bytes are searched in linear time, unlike texts.
        guard (1...70).contains(boundary.utf8.count) else { return nil }
        self.init("")
        for bytes in request.body.split(separator: Array(("--" + boundary).utf8)) {
            let part = String(decoding: bytes, as: UTF8.self)
            guard let end = part.firstRange(of: "\r\n\r\n"),
                let name = part[..<end.lowerBound].split(separator: " name=\"").dropFirst().first?.prefix(
                    while: { $0 != "\"" })
            else { continue }
            let text = part[end.upperBound...]
            values[name.lowercased()] = String(text.hasSuffix("\r\n") ? text.dropLast() : text)
        }
    }

    /// The first value of a name, in lower case; `nil` if it is absent or empty.
    subscript(_ name: String) -> String? {
        values[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
