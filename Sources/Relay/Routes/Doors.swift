import HTTPServer
import JSON
import Programs
import Storage

/// The doors: paths for requests from senders that were written for other relays (docs/guide/senders.md).
///
/// ntfy's and Bark's paths have no prefix, so this type decides which paths belong to them. The router asks only about
/// paths for which the relay has no route of its own.
enum Doors {
    /// Words that can't be ntfy topics, because the relay uses them or may use them in later versions.
    static let reserved: Set<String> = [
        "admin", "api", "app", "auth", "config", "docs", "health", "healthz", "info", "login", "mcp",
        "message",
        "metrics", "ping", "push", "ready", "register", "static", "user", "v1", "v2", "version", "ws",
    ]

    /// The door that a request is for; `nil` if it is for none.
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
            // The path contains a token; no ntfy topic is that long by chance.
            return segments.count <= 4 && (method == .get || method == .post) ? .barkPath : nil
        }
        return isPublishing && segments.count == 1 && isTopic(first) ? .ntfy : nil
    }

    /// Whether the text is a topic according to ntfy's rule and not one of the relay's reserved words.
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

/// `GET /ping` and `GET /version`, which senders use to check whether a relay is running.
struct DoorProbeRoute: AnsweringRoute {
    let services: LoopServices

    func answer(_ request: Request, _ trace: inout RequestTrace) async throws(APIError) -> Reply {
        trace.isRoutine = true
        let answer: JSON.Value =
            if request.path == "/ping" {
                // Bark's response.
                [
                    "code": 200, "message": "pong",
                    "timestamp": .int(services.shared.clock.now / 1_000),
                ]
            } else {
                // Gotify's response.
                ["version": .string(Version.current), "commit": "", "buildDate": ""]
            }
        return Reply(body: answer.encoded())
    }
}

/// The values in a query or a form (URL Standard, "application/x-www-form-urlencoded").
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

    /// Reads a body that is a form, including a multipart form (RFC 7578) as `curl -F` sends it; `nil` for other
    /// bodies.
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
        // A boundary has at most 70 characters (RFC 2046, section 5.1.1). Searching bytes takes linear time, unlike
        // searching strings.
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

    /// The value for a name, which must be in lower case; `nil` if the value is absent or empty.
    subscript(_ name: String) -> String? {
        values[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
