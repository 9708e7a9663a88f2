import APNs
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("Answers in docs/reference/openapi.yaml", .timeLimit(.minutes(2)))
struct OpenAPIAnswerTests {
    private let document: JSON.Value
    private let schema: JSONSchema

    init() throws {
        document = try SimpleYAML.parse(Documents.read("reference/openapi.yaml"))
        schema = JSONSchema(document: document)
    }

    @Test("Every answer that the routes give is described: status, headers, members")
    func answers() async throws {
        var options = RelayFixture.Options()
        options.limits.devicesPerSecretMax = 2
        try await RelayFixture.with(options) { relay in
            let secret = JSON.Value.string(RelayFixture.secret)
            func check(_ method: Method, _ path: String, _ body: JSON.Value? = nil, _ status: Int) async {
                let response = await relay.answer(
                    Request(method: method, target: path, body: body?.encoded() ?? []))
                #expect(response.status.rawValue == status)
                schema.expect(
                    response, isDescribedBy: document["paths"]?[path]?[method.description.lowercased()])
            }
            let event: JSON.Value = [
                "secret": secret, "eventType": "error", "sessionID": "s", "eventID": "e",
            ]
            await check(.get, "/health", nil, 200)
            await check(.get, "/ready", nil, 200)
            for token: JSON.Value in ["aa00", "bb00"] {
                await check(.post, "/v1/device/register", ["secret": secret, "deviceToken": token], 200)
            }
            let unknown: JSON.Value = ["timeZone": "Mars/Olympus", "badge": "all"]
            await check(
                .post, "/v1/device/register",
                ["secret": secret, "deviceToken": "aa00", "preferences": unknown], 200)
            await check(.post, "/v1/device/register", ["secret": secret, "deviceToken": "cc00"], 409)
            await relay.loop.run { _ in
                relay.production.value.script = { push in
                    push.deviceToken.text == "aa00" ? .accepted(push) : .rejected(410, "Unregistered")
                }
            }
            relay.time.withLock { $0 += 10 }
            await check(.post, "/v1/event", event, 200)
            await check(
                .post, "/v1/event",
                ["secret": secret, "eventType": "error", "sessionID": "s", "async": true], 202)
            await check(
                .post, "/v1/events",
                [
                    "secret": secret,
                    "events": [
                        ["eventType": "error", "sessionID": "s"], ["eventType": "error"],
                        ["eventType": "error", "sessionID": "s", "async": true],
                    ],
                ], 200)
            let notify: JSON.Value = ["secret": secret, "notification": ["title": "t"]]
            await check(.post, "/v1/notify", notify, 200)
            await check(
                .post, "/v1/notify",
                [
                    "secret": secret,
                    "notification": ["title": .string(String(repeating: "t", count: 5000))], "shorten": false,
                ], 413)
            await check(.post, "/v1/device/list", ["secret": secret], 200)
            #expect(relay.storage.state.withLock { $0.devices.count } == 1)
            await check(
                .post, "/v1/event",
                ["secret": secret, "eventType": "error", "sessionID": "other", "eventID": "e"], 409)
            await check(.post, "/v1/device/unregister", ["secret": secret, "deviceToken": "aa00"], 200)
            relay.storage.state.withLock { $0.failure = .unavailable(logDetail: "x") }
            await relay.onLoop { $0.services.shared.readiness.forget() }
            await check(.get, "/ready", nil, 503)
            await check(.post, "/v1/event", event, 503)
            await check(.post, "/v1/device/register", ["secret": secret, "deviceToken": "aa00"], 503)
            relay.storage.state.withLock { $0.failure = .internalFault(logDetail: "x") }
            await check(.post, "/v1/device/unregister", ["secret": secret, "deviceToken": "aa00"], 500)
        }
    }

    @Test("A member that isn't described is found in an answer, and would be none of a client's faults")
    func laterMembers() async throws {
        let operation = document["paths"]?["/health"]?["get"]
        let described = operation?["responses"]?["200"]?["$ref"]?.string.flatMap(schema.resolve)
        let body = try #require(described?["content"]?["application/json"]?["schema"])
        let later: JSON.Value = ["ok": true, "later": 1]
        #expect(schema.faults(in: later, body).isEmpty)
        var closed = schema
        closed.isClosed = true
        #expect(closed.faults(in: later, body) == ["$: later is not described"])
        // Clients generated from it would refuse later versions' responses.
        #expect(!Documents.read("reference/openapi.yaml").contains("additionalProperties"))
    }

    @Test("What a history answers is described", arguments: [true, false])
    func history(_ isKept: Bool) async throws {
        var options = RelayFixture.Options()
        options.history = isKept ? History.Options(lifetime: .seconds(86_400), keepsText: true) : nil
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            func check(_ path: String, _ members: JSON.Value) async -> Int {
                var body = members.object ?? JSON.Object()
                body["secret"] = .string(RelayFixture.secret)
                let response = await relay.post(path, .object(body))
                schema.expect(response, isDescribedBy: document["paths"]?[path]?["post"])
                return response.status.rawValue
            }
            #expect(await relay.event(["title": "t", "eventID": "e", "serverID": "s"]).status == .ok)
            let notification: JSON.Value = ["title": "t", "badge": "unread"]
            #expect(await check("/v1/notify", ["notification": notification]) == (isKept ? 200 : 403))
            #expect(await check("/v1/history/list", ["limit": 1]) == (isKept ? 200 : 403))
            #expect(await check("/v1/history/read", ["all": true]) == (isKept ? 200 : 403))
            #expect(await check("/v1/history/list", [:]) == (isKept ? 200 : 403))
        }
    }

    @Test("What is answered about outcomes is described")
    func outcomes() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            for id in ["e", "f"] { #expect(await relay.event(["eventID": .string(id)]).status == .ok) }
            let secret = JSON.Value.string(RelayFixture.secret)
            _ = await relay.post("/v1/reply", ["secret": secret, "eventID": "e", "action": "a", "text": "t"])
            _ = await relay.post("/v1/reply", ["secret": secret, "eventID": "f", "sealed": "AQ"])
            try await relay.storage.append([
                Delivery(
                    id: "id", secretHash: RelayFixture.key.primary, eventType: "notify", sessionID: "",
                    status: .failed, error: "Expired", createdAt: 1, deviceID: "gone")
            ])
            await relay.writeLog()
            relay.pass(Bounds.outcomeSettleTime(databaseTimeout: .seconds(5)) + .seconds(1))
            let response = await relay.post("/v1/outcomes", ["secret": secret])
            #expect(response.json["outcomes"]?.array?.count == 7)
            schema.expect(response, isDescribedBy: document["paths"]?["/v1/outcomes"]?["post"])
        }
    }

    @Test("What the routes of schedules answer is described")
    func schedules() async throws {
        var options = RelayFixture.Options()
        options.limits.schedulesPerSecretMax = 1
        try await RelayFixture.with(options) { relay in
            func check(_ path: String, _ members: JSON.Value) async -> Int {
                var body = members.object ?? JSON.Object()
                body["secret"] = .string(RelayFixture.secret)
                let response = await relay.post(path, .object(body))
                schema.expect(response, isDescribedBy: document["paths"]?[path]?["post"])
                return response.status.rawValue
            }
            let every: JSON.Value = [
                "unit": "month", "interval": 2, "on": [1, -1], "at": ["08:00"], "timeZone": "Europe/Berlin",
                "until": "2028-01-01T00:00:00Z",
            ]
            let monthly: JSON.Value = ["every": every, "name": "n", "notification": ["title": "t"]]
            #expect(await check("/v1/schedule/create", monthly) == 409)
            relay.storage.add("aa00", under: RelayFixture.key)
            #expect(await check("/v1/schedule/create", monthly) == 200)
            #expect(
                await check("/v1/schedule/create", ["in": 1, "eventType": "error", "sessionID": "s"]) == 409)
            relay.storage.state.withLock { state in
                state.schedules[0].schedule.lastAt = 1
                state.schedules[0].schedule.lastOutcome = ScheduleQueue.Outcome.noDevices.rawValue
            }
            #expect(await check("/v1/schedule/list", [:]) == 200)
            #expect(await check("/v1/schedule/cancel", ["name": "n"]) == 200)
            #expect(await check("/v1/presence", ["seconds": 60]) == 200)
        }
    }

    @Test("What the routes of tokens answer is described, and what those answer that take a token")
    func tokens() async throws {
        try await RelayFixture.with { relay in
            func check(_ path: String, _ members: JSON.Value, token: String? = nil, _ status: Int) async {
                var body = members.object ?? JSON.Object()
                if token == nil { body["secret"] = .string(RelayFixture.secret) }
                let response =
                    if let token {
                        await relay.post(path, .object(body), token: token)
                    } else {
                        await relay.post(path, .object(body))
                    }
                #expect(response.status.rawValue == status)
                schema.expect(response, isDescribedBy: document["paths"]?[path]?["post"])
            }
            let wanted: JSON.Value = ["scope": "read", "name": "n", "expiresAt": "2028-01-01T00:00:00Z"]
            await check("/v1/token/create", wanted, 409)
            relay.storage.add("aa00", under: RelayFixture.key)
            await check("/v1/token/create", wanted, 200)
            let token = try await relay.token(.read)
            for path in try #require(document["paths"]?.object).members.map(\.name)
            where path.hasPrefix("/v1/") && path != "/v1/webpush/key" {
                // Without a history, these routes refuse before they check the token.
                guard !path.hasPrefix("/v1/history") else { continue }
                await check(path, Self.anything, token: AccessTokenText.make(), 401)
                guard !["/v1/device/list", "/v1/schedule/list", "/v1/outcomes"].contains(path) else {
                    await check(path, [:], token: token, 200)
                    continue
                }
                guard path != "/v1/reply/wait" else { continue }
                await check(path, Self.anything, token: token, 403)
            }
            await check("/v1/token/list", [:], 200)
            await check("/v1/token/revoke", ["tokenID": "01970000-0000-7000-8000-000000000000"], 200)
        }
    }

    /// Members that make every body valid.
    private static let anything: JSON.Value = [
        "deviceToken": "aa00", "eventType": "complete", "sessionID": "s", "all": true, "eventID": "e",
        "title": "t", "action": "once", "activityToken": "bb00", "outcome": "taken", "scope": "send",
        "name": "n", "tokenID": "01970000-0000-7000-8000-000000000000", "in": 60,
        "seconds": 60, "events": [["eventType": "error", "sessionID": "s"]],
    ]

    @Test("What MCP clients are answered is described, for both kinds of messages")
    func mcp() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let operation = document["paths"]?["/mcp"]?["post"]
            let wanted = try #require(
                operation?["requestBody"]?["content"]?["application/json"]?["schema"])
            func check(
                _ body: JSON.Value, _ status: Int, secret: String = RelayFixture.secret,
                _ headers: [(name: String, value: String)] = []
            ) async {
                let response = await relay.answer(
                    Request(
                        method: .post, target: "/mcp",
                        headers: [
                            ("Content-Type", "application/json"), ("Authorization", "Bearer \(secret)"),
                        ] + headers, body: body.encoded()))
                #expect(response.status.rawValue == status)
                #expect(schema.faults(in: body, wanted).isEmpty == (status != 400), "\(body)")
                if status != 202 { schema.expect(response, isDescribedBy: operation) }
            }
            let ping = MCPTests.legacy("ping")
            await check(ping, 200)
            await check(MCPTests.legacy("no/such/method", id: "a"), 200)
            await check(MCPTests.legacy("tools/call", ["name": "list_devices"]), 200)
            await check(["jsonrpc": "2.0", "method": "notifications/initialized"], 202)
            await check(ping, 401, secret: "")
            await check(ping, 403, [("Origin", "https://evil.example")])
            for body: JSON.Value in [
                [], [:], ["jsonrpc": "2.0"], ["jsonrpc": "1.0", "id": 1, "method": "ping"],
                ["jsonrpc": "2.0", "id": nil, "method": "ping"], ["jsonrpc": "2.0", "id": 1, "method": 1],
                ["jsonrpc": "2.0", "id": .int(1 << 53), "method": "ping"],
                ["jsonrpc": "2.0", "id": 1, "method": "ping", "params": []],
            ] { await check(body, 400) }
            let headers = [
                (name: "MCP-Protocol-Version", value: "2026-07-28"), (name: "Mcp-Method", value: "ping"),
            ]
            await check(MCPTests.modern("ping").body, 404, headers)
            relay.storage.state.withLock { $0.failure = .unavailable(logDetail: "x") }
            await check(
                MCPTests.modern("tools/call", ["name": "list_devices"]).body, 503,
                [headers[0], ("Mcp-Method", "tools/call"), ("Mcp-Name", "list_devices")])
        }
    }

    @Test("What registrations answer when they are not open is described")
    func registrations() async throws {
        var options = RelayFixture.Options()
        let hasher = try #require(SecretHasher(pepper: Secret(String(repeating: "p", count: 32))))
        let policies: [(RegistrationPolicy, JSON.Value?, Int)] = [
            (.challenge(try #require(ChallengeCodes(hasher))), nil, 202),
            (
                .challenge(try #require(ChallengeCodes(hasher))),
                .string(String(repeating: "0", count: 40)), 403
            ),
            (.key(Secret("the operator's key")), nil, 401),
        ]
        for (policy, code, status) in policies {
            options.registration = policy
            try await RelayFixture.with(options) { relay in
                var body = JSON.Object()
                body["secret"] = .string(RelayFixture.secret)
                body["deviceToken"] = "aa00"
                body["challengeCode"] = code
                let path = "/v1/device/register"
                let response = await relay.post(path, .object(body))
                #expect(response.status.rawValue == status)
                schema.expect(response, isDescribedBy: document["paths"]?[path]?["post"])
            }
        }
    }

    @Test(
        "Bearer tokens are described as optional: the key for registrations, the secret for all that take one"
    )
    func registrationKey() async throws {
        #expect(document["paths"]?["/mcp"]?["post"]?["security"] == [["Secret": []]])
        let key = "the operator's key"
        let scheme = document["components"]?["securitySchemes"]?["RegistrationKey"]
        #expect(scheme?["type"] == "http" && scheme?["scheme"] == "bearer")
        #expect(document["components"]?["securitySchemes"]?["Secret"]?["scheme"] == "bearer")
        var options = RelayFixture.Options()
        options.registration = .key(Secret(key))
        options.history = History.Options(lifetime: .seconds(86_400))
        options.webPush = try Browser.keys()
        try await RelayFixture.with(options) { relay in
            relay.storage.add("bb00", under: RelayFixture.key)
            for path in try #require(document["paths"]?.object).members {
                let isSchedule = path.name.hasPrefix("/v1/schedule/")
                for method in try #require(path.value.object).members where path.name != "/mcp" {
                    let security = method.value["security"]
                    let isKeyed = security == [[:], ["RegistrationKey": []], ["Secret": []]]
                    let takesSecret = method.name == "post"
                    #expect(
                        isKeyed || security == (takesSecret ? [[:], ["Secret": []]] : nil), "\(path.name)")
                    let schedule: JSON.Value = [
                        "secret": .string(RelayFixture.secret), "in": 60, "name": "n",
                        "eventType": "complete", "sessionID": "s",
                    ]
                    let other: JSON.Value = [
                        "secret": .string(RelayFixture.secret), "deviceToken": "aa00",
                        "eventType": "complete", "sessionID": "s", "notification": ["title": "t"],
                        "all": true, "eventID": path.name == "/v1/notify" ? "n" : "e", "action": "once",
                        "activityToken": "bb00", "outcome": "taken", "seconds": 60,
                        "scope": "send", "name": "n",
                        "tokenID": "01970000-0000-7000-8000-000000000000",
                        "events": [["eventType": "complete", "sessionID": "s"]],
                    ]
                    let body = isSchedule ? schedule : other
                    for isGiven in [false, true] {
                        let request = Request(
                            method: method.name == "get" ? .get : .post, target: path.name,
                            headers: isGiven ? [("Authorization", "Bearer \(key)")] : [],
                            body: method.name == "get" ? [] : body.encoded())
                        let answer = await relay.answer(request)
                        // The device has been unregistered by an earlier request.
                        let isWithoutDevice = path.name == "/v1/activity/register"
                        #expect(
                            answer.status.rawValue
                                == (isKeyed && !isGiven ? 401 : isWithoutDevice ? 409 : 200), "\(path.name)")
                    }
                }
            }
        }
    }
}

extension JSONSchema {
    /// Records the parts of a response that its operation doesn't describe.
    func expect(_ response: Response, isDescribedBy operation: JSON.Value?) {
        let status = "\(response.status.rawValue)"
        guard var described = operation?["responses"]?[status] else {
            Issue.record("status \(status) is not described")
            return
        }
        if let reference = described["$ref"]?.string { described = resolve(reference) ?? nil }
        for header in described["headers"]?.object?.members ?? [] {
            #expect(response.headers[header.name] != nil, "\(status) without \(header.name)")
        }
        // Every response has Vary.
        for pair in response.headers.pairs where !["Content-Type", "Vary"].contains(pair.name) {
            #expect(described["headers"]?[pair.name] != nil, "\(pair.name) is not described for \(status)")
        }
        let body = described["content"]?["application/json"]?["schema"] ?? nil
        var closed = self
        closed.isClosed = true
        let faults = closed.faults(in: response.json, body)
        #expect(faults.isEmpty, "\(faults)")
    }
}
