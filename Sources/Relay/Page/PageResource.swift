import HTTPServer
import PageFiles
import Storage

/// What browsers may do with a page's files.
struct PagePolicy: Sendable {
    /// The value of `Content-Security-Policy`.
    let content: String
    /// The value of `Permissions-Policy`.
    let permissions: String

    /// The policy of the web page under `/app/`.
    static let app = PagePolicy(
        content:
            "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        permissions: "camera=(self)")
}

/// A page's file as HTTP serves it: plain, compressed, or reported as unchanged if the client already has it.
struct PageResource: Sendable {
    private static let types: [Substring: String] = [
        "css": "text/css; charset=utf-8", "html": "text/html; charset=utf-8",
        "js": "text/javascript; charset=utf-8", "png": "image/png", "svg": "image/svg+xml",
        "webmanifest": "application/manifest+json",
    ]

    private let file: PageFile
    private let type: String
    private let digest: String
    /// The header fields of every response.
    private let headers: [(name: String, value: String)]

    /// A file with its type and its SHA-256.
    ///
    /// With `no-cache`, browsers ask each time whether a file has changed, so they never mix the files of two versions.
    init(_ file: PageFile, policy: PagePolicy = .app) {
        self.file = file
        headers = [
            ("Cache-Control", "no-cache"), ("Vary", "Accept-Encoding"),
            ("Content-Security-Policy", policy.content), ("Permissions-Policy", policy.permissions),
            ("Referrer-Policy", "no-referrer"), ("X-Content-Type-Options", "nosniff"),
        ]
        type = file.path.split(separator: ".").last.flatMap { Self.types[$0] } ?? "application/octet-stream"
        digest = Digest256(of: file.bytes).hex
    }

    /// The response to `GET`; the server omits the body for `HEAD`.
    func response(to request: Request) -> Response {
        let compressed = Self.acceptsGzip(request) ? file.compressed : nil
        // Each form has its own tag, as strong tags must (RFC 9110, section 8.8.3.3).
        let tag = compressed == nil ? "\"\(digest)\"" : "\"\(digest)-gzip\""
        var headers = Headers(headers)
        headers.append("ETag", tag)
        guard !Self.has(tag, request) else { return Response(status: 304, headers: headers) }
        headers.append("Content-Type", type)
        if compressed != nil { headers.append("Content-Encoding", "gzip") }
        return Response(headers: headers, body: compressed ?? file.bytes)
    }

    /// Whether the client accepts gzip (RFC 9110, section 12.5.3).
    private static func acceptsGzip(_ request: Request) -> Bool {
        list("Accept-Encoding", of: request).contains { coding in
            let parts = coding.lowercased().filter { $0 != " " && $0 != "\t" }.split(separator: ";")
            let isRefused = parts.dropFirst().contains { weight in
                weight.hasPrefix("q=0") && weight.dropFirst(3).allSatisfy { $0 == "0" || $0 == "." }
            }
            return parts.first == "gzip" && !isRefused
        }
    }

    /// Whether the client has the form with this tag (RFC 9110, section 13.1.2).
    private static func has(_ tag: String, _ request: Request) -> Bool {
        list("If-None-Match", of: request).contains { element in
            let known = element.filter { $0 != " " && $0 != "\t" }
            // Proxies that change a response make its tag weak.
            return known == "*" || known == tag || known == "W/" + tag
        }
    }

    private static func list(_ name: String, of request: Request) -> [Substring] {
        request.headers.values(of: name).flatMap { $0.split(separator: ",") }
    }
}
