import HTTPServer

/// Lets a page from another origin use every public route if the operator has listed its origin.
///
/// The API reads secrets from bodies and `Authorization`, never from cookies, so credentials are never allowed: a page
/// can do nothing without knowing a secret. Source: Fetch Standard, "HTTP CORS protocol".
struct CrossOrigin: Sendable {
    let origins: WebOrigins

    /// How long a browser may cache a preflight response, in seconds: Chromium's maximum.
    static let maxAgeSeconds = 7200
    /// The request headers that the API and MCP clients need, beyond those that every page may send.
    static let requestHeaders =
        "Authorization, Content-Type, MCP-Protocol-Version, MCP-Session-Id, Mcp-Method, Mcp-Name, "
        + "X-Request-ID, traceparent"
    /// The response headers that an allowed page may read, beyond those that every page may read.
    static let exposedHeaders = "X-Request-ID, Retry-After"

    /// The response to a preflight, which ``mark(_:for:)`` completes.
    ///
    /// It is the same for every path, known or not, so that a page can read the error for a wrong path.
    ///
    /// - Parameter methods: The methods of all routes.
    func preflight(_ request: Request, _ methods: [Method]) -> Response {
        var response = Response(status: 204)
        guard allowedOrigin(of: request) != nil else { return response }
        response.headers.append(
            "Access-Control-Allow-Methods", methods.map(\.description).joined(separator: ", "))
        response.headers.append("Access-Control-Allow-Headers", Self.requestHeaders)
        response.headers.append("Access-Control-Max-Age", String(Self.maxAgeSeconds))
        // Private Network Access: a page on the internet requests access to a relay in a private network.
        if request.headers["Access-Control-Request-Private-Network"] == "true" {
            response.headers.append("Access-Control-Allow-Private-Network", "true")
        }
        return response
    }

    /// Lets the requesting page read the response if its origin is allowed.
    ///
    /// Every response is marked as varying by origin; otherwise, a cache could return it to another page.
    func mark(_ response: inout Response, for request: Request?) {
        response.headers.append("Vary", "Origin")
        guard let request, let origin = allowedOrigin(of: request) else { return }
        response.headers.append("Access-Control-Allow-Origin", origin)
        response.headers.append("Access-Control-Expose-Headers", Self.exposedHeaders)
    }

    private func allowedOrigin(of request: Request) -> String? {
        guard request.headers.bytes(of: "Origin") != nil else { return nil }
        let values = request.headers.values(of: "Origin")
        guard let origin = values.first, values.count == 1, origins.allow(origin) else { return nil }
        return origin
    }
}
