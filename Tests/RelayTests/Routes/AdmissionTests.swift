import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("Admission of tenants", .timeLimit(.minutes(2)))
struct AdmissionTests {
    /// The routes that serve tenants with a body, and a valid body's members besides the secret.
    private static let bodies: [RouteName: JSON.Value] = [
        .register: ["deviceToken": "aa00", "bundleId": "org.example.a"],
        .unregister: ["deviceToken": "bb00"],
        .list: [:],
        .activityRegister: ["sessionID": "s", "activityToken": "cc00"],
        .activityUnregister: ["sessionID": "s"],
        .presence: ["seconds": 60],
        .event: ["eventType": "error", "sessionID": "s"],
        .events: ["events": [["eventType": "error", "sessionID": "s"]]],
        .notify: ["title": "t"],
        .historyList: [:],
        .historyRead: ["all": true],
        .acknowledge: ["eventID": "e"],
        .reply: ["eventID": "e", "action": "yes"],
        .replyWait: ["eventID": "e", "timeout": 0],
        .replyResult: ["eventID": "e", "outcome": "taken"],
        .outcomes: [:],
        .scheduleCreate: ["in": 60, "notification": ["title": "t"]],
        .scheduleList: [:],
        .scheduleCancel: ["name": "n"],
        .tokenCreate: ["scope": "send", "name": "n"],
        .tokenList: [:],
        .tokenRevoke: ["tokenID": "01970000-0000-7000-8000-000000000000"],
    ]
    /// The routes that serve a tenant; `/mcp` admits its own calls, and the others don't use a secret.
    private static let tenantRoutes = RouteName.allCases.filter {
        !([.health, .ready, .page, .webPushKey, .mcp, .none] + RouteName.doors).contains($0)
    }
    /// The routes that a blocked secret may use.
    private static let reading: Set<RouteName> = [
        .unregister, .list, .activityUnregister, .historyList, .historyRead, .scheduleList, .scheduleCancel,
        .tokenList, .tokenRevoke,
    ]
    /// Arguments for each of the agents' tools.
    private static let arguments: [MCPTool: JSON.Value] = [
        .sendNotification: ["title": "t", "message": "m"],
        .askUser: ["question": "q", "choices": ["a"], "timeout": 1],
        .listDevices: [:],
        .scheduleNotification: ["title": "t", "message": "m", "in": 60],
        .listScheduled: [:],
        .cancelScheduled: ["name": "n"],
    ]

    private static func with(
        _ rates: RateLimitConfiguration = RateLimitConfiguration(),
        _ body: (RelayFixture) async throws -> Void
    ) async throws {
        var options = RelayFixture.Options()
        options.rates = rates
        options.history = History.Options(lifetime: .seconds(3600))
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            try await body(relay)
        }
    }

    private static func post(_ relay: RelayFixture, _ route: RouteName) async throws -> Response {
        var body = try #require(bodies[route]?.object, "a body of \(route)")
        body["secret"] = .string(RelayFixture.secret)
        return await relay.post(route.path, .object(body))
    }

    private static func call(_ relay: RelayFixture, _ tool: MCPTool) async throws -> Response {
        let arguments = try #require(arguments[tool], "arguments of \(tool)")
        let call = MCPTests.legacy("tools/call", ["name": .string(tool.rawValue), "arguments": arguments])
        return await relay.answer(
            Request(
                method: .post, target: "/mcp",
                headers: [
                    ("Content-Type", "application/json"), ("Authorization", "Bearer \(RelayFixture.secret)"),
                ], body: call.encoded()))
    }

    @Test(
        "Every route for tenants refuses what exceeds the secret's limit",
        arguments: tenantRoutes)
    func limited(route: RouteName) async throws {
        try await Self.with(RateLimitConfiguration(eventsPerMinute: 1, registrationsPerMinute: 1)) { relay in
            let first = try await Self.post(relay, route)
            #expect(first.status != 429)
            let second = try await Self.post(relay, route)
            #expect(second.status == 429 && second.json["code"] == "rate_limited")
        }
    }

    @Test("Every tool for agents refuses what exceeds the secret's limit", arguments: MCPTool.allCases)
    func limited(tool: MCPTool) async throws {
        try await Self.with(RateLimitConfiguration(eventsPerMinute: 1, registrationsPerMinute: 1)) { relay in
            let refusal = "Too many requests."
            let (first, second) = (try await Self.call(relay, tool), try await Self.call(relay, tool))
            #expect(!String(decoding: first.body, as: UTF8.self).contains(refusal))
            #expect(String(decoding: second.body, as: UTF8.self).contains(refusal))
        }
    }

    @Test(
        "A blocked secret may read and remove what it has, and nothing else",
        arguments: tenantRoutes)
    func blocked(route: RouteName) async throws {
        try await Self.with { relay in
            relay.storage.state.withLock {
                $0.blocked.append(BlockedSecret(secretHash: RelayFixture.key.primary, createdAt: 1))
            }
            let list = await relay.onLoop { $0.services.shared.blocked }
            try await list.read()
            let response = try await Self.post(relay, route)
            #expect((response.json["code"] == "blocked") == !Self.reading.contains(route))
        }
    }
}
