import HTTPServer
import JSON
import Testing

@testable import Relay

@Suite("Cross-origin access", .timeLimit(.minutes(1)))
struct CrossOriginTests {
    private static let page = "http://localhost:5173"
    private static let foreign = "https://evil.example"
    private static let allowOrigin = "Access-Control-Allow-Origin"

    /// Sends a preflight request, as a browser does before a request that needs permission.
    private func preflight(
        _ relay: RelayFixture, _ path: String, from origin: String,
        _ further: [(name: String, value: String)] = []
    ) async -> Response {
        let headers = [("Origin", origin), ("Access-Control-Request-Method", "POST")]
        return await relay.answer(
            Request(method: .options, target: path, headers: headers + further))
    }

    @Test("A preflight for any path is answered, and names what an allowed page may send")
    func preflights() async throws {
        try await RelayFixture.with { relay in
            for path in RouteName.allCases.map(\.path) + ["/v1/nothing"] where !path.isEmpty {
                let response = await preflight(relay, path, from: Self.page)
                #expect(response.status == 204 && response.body.isEmpty)
                #expect(response.headers[Self.allowOrigin] == Self.page)
                #expect(response.headers["Access-Control-Allow-Methods"] == "GET, HEAD, POST")
                let allowed = response.headers["Access-Control-Allow-Headers"]?.lowercased() ?? ""
                for name in [
                    "authorization", "content-type", "mcp-protocol-version", "mcp-session-id", "mcp-method",
                    "mcp-name", "x-request-id",
                ] {
                    #expect(allowed.split(separator: ", ").contains(Substring(name)))
                }
                #expect(response.headers["Access-Control-Max-Age"] == "7200")
                #expect(response.headers["Vary"] == "Origin")
                #expect(response.headers["Access-Control-Allow-Credentials"] == nil)
                #expect(response.headers["Access-Control-Allow-Private-Network"] == nil)
            }
        }
    }

    @Test("A page in the internet that is allowed may ask for a relay in a private network")
    func privateNetwork() async throws {
        try await RelayFixture.with { relay in
            let wanted = [("Access-Control-Request-Private-Network", "true")]
            let allowed = await preflight(relay, "/v1/event", from: Self.page, wanted)
            #expect(allowed.headers["Access-Control-Allow-Private-Network"] == "true")
            let foreign = await preflight(relay, "/v1/event", from: Self.foreign, wanted)
            #expect(foreign.headers["Access-Control-Allow-Private-Network"] == nil)
        }
    }

    @Test("A preflight of a foreign page allows nothing")
    func foreignPreflight() async throws {
        try await RelayFixture.with { relay in
            for origin in [Self.foreign, "null"] {
                let response = await preflight(relay, "/v1/event", from: origin)
                #expect(response.status == 204)
                #expect(response.headers["Vary"] == "Origin")
                #expect(!response.headers.pairs.contains { $0.name.hasPrefix("Access-Control") })
            }
        }
    }

    @Test("OPTIONS without a preflight's headers is a method that no route has")
    func options() async throws {
        try await RelayFixture.with { relay in
            let response = await relay.answer(
                Request(method: .options, target: "/v1/event", headers: [("Origin", Self.page)]))
            #expect(response.status == 405)
        }
    }

    @Test("Successes and errors alike can be read by allowed pages, and by no others")
    func answers() async throws {
        try await RelayFixture.with { relay in
            let requests: [(Method, String, [UInt8], Status)] = [
                (.get, "/health", [], 200), (.post, "/v1/event", Array("{".utf8), 400),
                (.get, "/nothing", [], 404), (.get, "/v1/event", [], 405), (.post, "/mcp/", [], 401),
            ]
            for (method, path, body, status) in requests {
                let allowed = await relay.answer(
                    Request(method: method, target: path, headers: [("Origin", Self.page)], body: body))
                #expect(allowed.status == status)
                #expect(allowed.headers[Self.allowOrigin] == Self.page)
                #expect(allowed.headers["Access-Control-Expose-Headers"] == "X-Request-ID, Retry-After")
                #expect(allowed.headers["Vary"] == "Origin")
                for origin in [Self.foreign, nil] {
                    let headers = origin.map { [("Origin", $0)] } ?? []
                    let other = await relay.answer(
                        Request(method: method, target: path, headers: headers, body: body))
                    #expect(other.headers["Vary"] == "Origin")
                    #expect(!other.headers.pairs.contains { $0.name.hasPrefix("Access-Control") })
                }
            }
        }
    }

    @Test("A repeated Origin allows nothing")
    func repeated() async throws {
        try await RelayFixture.with { relay in
            let response = await relay.answer(
                Request(target: "/health", headers: [("Origin", Self.page), ("Origin", Self.foreign)]))
            #expect(response.headers[Self.allowOrigin] == nil)
        }
    }
}
