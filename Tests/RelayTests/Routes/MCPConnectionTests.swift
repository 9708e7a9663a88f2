import Foundation
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("Connecting to POST /mcp", .timeLimit(.minutes(2)))
struct MCPConnectionTests {
    @Test("Without a secret there is no answer but 401, which starts no OAuth")
    func unauthorized() async throws {
        let key = String(repeating: "k", count: 32)
        var options = RelayFixture.Options()
        options.registration = .key(Secret(key))
        try await RelayFixture.with(options) { relay in
            for secret in [nil, "", String(repeating: "a", count: 513), key] {
                let response = await MCPTests.post(relay, MCPTests.legacy("ping"), secret: secret)
                #expect(response.status == 401)
                #expect(response.headers["WWW-Authenticate"] == "Bearer")
                #expect(response.json["error"]?["code"] == -32600 && response.json["id"] == nil)
            }
            for path in [
                "protected-resource", "protected-resource/mcp", "authorization-server",
            ] {
                #expect(await relay.answer(Request(target: "/.well-known/oauth-\(path)")).status == 404)
            }
        }
    }

    @Test("Recorded clients connect, and none with a secret that has no devices")
    func connects() async throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("MCP/initialize.json")
        let clients = try #require(
            try JSON.parse([UInt8](try Data(contentsOf: file)), maxBytes: 1 << 16).object)
        #expect(clients.members.count == 4)
        try await RelayFixture.with { relay in
            relay.storage.add("aa00112233445566", under: RelayFixture.key)
            for client in clients.members {
                let body = MCPTests.legacy("initialize", client.value)
                let connected = await MCPTests.post(relay, body)
                #expect(connected.status == 200)
                #expect(
                    connected.json["result"]?["protocolVersion"] == client.value["protocolVersion"],
                    "\(client.name)")
                let refused = await MCPTests.post(relay, body, secret: "another-secret-of-somebody")
                #expect(refused.status == 401 && refused.headers["WWW-Authenticate"] == "Bearer")
                #expect(refused.json["error"]?["message"]?.string?.contains("No devices") == true)
            }
            let (body, _) = MCPTests.modern("server/discover")
            let headers = [
                (name: "MCP-Protocol-Version", value: "2026-07-28"),
                (name: "Mcp-Method", value: "server/discover"),
            ]
            #expect(await MCPTests.post(relay, body, headers).status == 200)
            #expect(
                await MCPTests.post(relay, body, headers, secret: "another-secret-of-somebody").status == 401)
        }
    }

    @Test("While the database doesn't answer, clients connect; made-up secrets are limited")
    func connectionLimits() async throws {
        var options = RelayFixture.Options()
        options.rates = RateLimitConfiguration(unknownSecretsPerMinute: 1)
        let initialize = MCPTests.legacy("initialize", ["protocolVersion": "2025-06-18"])
        try await RelayFixture.with(options) { relay in
            relay.storage.state.withLock { $0.failure = .unavailable(logDetail: "gone") }
            #expect(await MCPTests.post(relay, initialize).status == 200)
            relay.storage.state.withLock { $0.failure = nil }
            #expect(await MCPTests.post(relay, initialize).status == 401)
            let limited = await MCPTests.post(relay, initialize)
            #expect(limited.status == 429 && limited.json["error"]?["data"]?["code"] == "rate_limited")
        }
    }

    @Test("Pages of foreign origins are refused, whatever else they send")
    func origins() async throws {
        try await RelayFixture.with { relay in
            for (origin, status) in [
                ("http://evil.example", 403), ("null", 403), ("http://localhost:3000", 200),
            ] {
                let response = await MCPTests.post(
                    relay, MCPTests.legacy("ping"), [("Origin", origin), ("Host", "evil.example")])
                #expect(response.status.rawValue == status)
            }
        }
    }

    @Test("Only POST is there, and notifications get an empty 202")
    func transport() async throws {
        try await RelayFixture.with { relay in
            for method in [Method.get, .delete, .put, .options] {
                let response = await relay.answer(
                    Request(
                        method: method, target: "/mcp",
                        headers: [("Authorization", "Bearer \(RelayFixture.secret)")]))
                #expect(response.status == 405)
            }
            let accepted = await MCPTests.post(
                relay, ["jsonrpc": "2.0", "method": "notifications/initialized"])
            #expect(accepted.status == 202 && accepted.body.isEmpty)
            #expect(accepted.headers["Content-Type"] == nil)
        }
    }
}

extension MCPTests {
    /// Posts a message with a secret, if there is one.
    static func post(
        _ relay: RelayFixture, _ body: JSON.Value, _ headers: [(name: String, value: String)] = [],
        secret: String? = RelayFixture.secret
    ) async -> Response {
        let authorization = secret.map { [(name: "Authorization", value: "Bearer \($0)")] } ?? []
        return await relay.answer(
            Request(
                method: .post, target: "/mcp",
                headers: [("Content-Type", "application/json")] + authorization + headers,
                body: body.encoded()))
    }
}
