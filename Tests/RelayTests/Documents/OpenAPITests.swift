import APNs
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("docs/openapi.yaml", .timeLimit(.minutes(2)))
struct OpenAPITests {
    private let document: JSON.Value
    private let schema: JSONSchema

    init() throws {
        document = try SimpleYAML.parse(Documents.read("openapi.yaml"))
        schema = JSONSchema(document: document)
    }

    @Test("It has the routes of the code, no more and no fewer")
    func routes() throws {
        var described: [String] = []
        for path in try #require(document["paths"]?.object).members {
            for method in try #require(path.value.object).members {
                described.append("\(method.name.uppercased()) \(path.name)")
            }
        }
        #expect(Set(described) == Set(RouteName.allCases.filter { $0 != .none }.map(\.rawValue)))
        #expect(document["info"]?["version"] == .string(Version.current))
    }

    @Test("Its codes are those of the table, and its fields those of the requests")
    func names() throws {
        let schemas = try #require(document["components"]?["schemas"])
        #expect(schemas["ErrorCode"]?["enum"]?.array == ErrorCode.allCases.map { .string($0.rawValue) })
        #expect(
            schemas["Refusal"]?["properties"]?["field"]?["enum"]?.array
                == RequestField.allCases.map { .string($0.rawValue) })
        func properties(_ name: String) -> [String]? {
            schemas[name]?["properties"]?.object?.members.map(\.name)
        }
        #expect(
            properties("RegisterRequest") == [
                "secret", "deviceToken", "bundleId", "apnsEnv", "deviceName", "deviceModel", "osVersion",
                "appVersion", "preferences",
            ])
        #expect(properties("ListRequest") == ["secret"])
        #expect(properties("NotifyRequest") == ["secret", "deviceToken", "notification", "eventID"])
        #expect(properties("UnregisterRequest") == ["secret", "deviceToken"])
        #expect(
            properties("EventRequest")
                == ["secret", "eventType", "sessionID", "serverID", "title", "body", "eventID"])
        let requests = [
            ("RegisterRequest", ""), ("UnregisterRequest", ""), ("EventRequest", ""), ("NotifyRequest", ""),
            ("ListRequest", ""), ("Notification", "notification."), ("Preferences", "preferences."),
            ("QuietHours", "preferences.quietHours."),
        ]
        let all = requests.flatMap { name, prefix in (properties(name) ?? []).map { prefix + $0 } }
        #expect(Set(all) == Set(RequestField.allCases.map(\.rawValue)))
    }

    @Test("Its bounds are those of the code")
    func bounds() throws {
        let schemas = try #require(document["components"]?["schemas"])
        #expect(schemas["Secret"]?["minLength"]?.int == 1)
        #expect(schemas["NewSecret"]?["minLength"]?.int == RequestRules().secretBytesMin)
        #expect(schemas["NewSecret"]?["maxLength"]?.int == Bounds.secretBytesMax)
        #expect(schemas["Secret"]?["maxLength"]?.int == Bounds.secretBytesMax)
        #expect(schemas["Detail"]?["maxLength"]?.int == Bounds.deviceDetailBytesMax)
        let notification = schemas["Notification"]?["properties"]
        #expect(notification?["badge"]?["maximum"]?.int == Bounds.badgeMax)
        #expect(notification?["ttl"]?["maximum"]?.int == Bounds.timeToLiveSecondsMax)
        #expect(notification?["collapseID"]?["pattern"] == .string("^[!-~]{1,\(CollapseID.bytesMax)}$"))
        #expect(
            Set(notification?["interruptionLevel"]?["enum"]?.array?.compactMap(\.string) ?? [])
                == Set(NotificationContent.InterruptionLevel.allCases.map(\.rawValue)))
        #expect(
            schemas["QuietHours"]?["properties"]?["timeZone"]?["maxLength"]?.int == TimeZones.nameBytesMax)
        #expect(schemas["Identifier"]?["maxLength"]?.int == Bounds.identifierBytesMax)
        #expect(schemas["EventID"]?["maxLength"]?.int == Bounds.eventIDBytesMax)
        #expect(
            schemas["DeviceToken"]?["pattern"] == .string("^([0-9A-Fa-f]{2}){1,\(DeviceToken.countMax / 2)}$")
        )
        #expect(schemas["BundleID"]?["pattern"] == .string("^[A-Za-z0-9.-]{1,\(Topic.countMax)}$"))
        #expect(
            schemas["EventAnswer"]?["properties"]?["deliveries"]?["maxItems"]?.int
                == Bounds.deliveriesListedMax)
        #expect(schemas["EventType"]?["enum"]?.array == EventType.allCases.map { .string($0.rawValue) })
        #expect(
            Set(schemas["APNsEnvironment"]?["enum"]?.array?.compactMap(\.string) ?? [])
                == Set(DeviceEnvironment.allCases.map(\.rawValue)))
        #expect(
            document["components"]?["headers"]?["RequestID"]?["schema"]?["pattern"]
                == .string("^[A-Za-z0-9._:-]{1,\(Bounds.requestIDCountMax)}$"))
    }

    /// Requests of every kind, good and bad.
    private static let requests: [(path: String, body: JSON.Value)] = {
        let secret: JSON.Value = .string(RelayFixture.secret)
        let long = String(repeating: "a", count: 513)
        let texts: [JSON.Value] = [
            "", "a", "aa00", "AA0f", "abc", .string(long), .string(String(long.prefix(512))),
            .string(String(long.prefix(400))), .string(String(long.prefix(256))),
            .string(String(long.prefix(255))),
            .string(String(long.prefix(129))), .string(String(long.prefix(128))),
            .string(String(long.prefix(16))),
            .string(String(long.prefix(15))), .string(String(long.prefix(155))),
            .string(String(long.prefix(156))),
            "org.example-App.1", "a b", "a\0aaaaaaaaaaaaaaaa", "é", "complete", "permission", "error",
            "sandbox",
            "production", "Sandbox", .null, 1, true, [], [:], 0, 5, 10, -1, 999_999, 1_000_000, 2_592_000,
            2_592_001, ["error"], ["error", "error"], ["start"], ["aps": 1], ["name": "x"], ["name": 1],
            ["name": "x", "critical": true, "volume": 1], ["name": "x", "volume": 2], "alert", "passive",
            "time-sensitive", "07:00", "24:00", "aé",
        ]
        let bases: [(String, JSON.Value, [RequestField])] = [
            (
                "/v1/device/register",
                ["secret": secret, "deviceToken": "aa00", "bundleId": "a", "apnsEnv": "sandbox", "x": 1],
                [
                    .secret, .deviceToken, .bundleID, .apnsEnvironment, .deviceName, .deviceModel,
                    .osVersion, .appVersion, .preferences,
                ]
            ),
            ("/v1/device/list", ["secret": secret], [.secret]),
            (
                "/v1/notify", ["secret": secret, "notification": ["title": "t"]],
                [.secret, .deviceToken, .eventID]
            ),
            ("/v1/device/unregister", ["secret": secret, "deviceToken": "aa00"], [.secret, .deviceToken]),
            (
                "/v1/event", ["secret": secret, "eventType": "complete", "sessionID": "s"],
                [.secret, .eventType, .sessionID, .serverID, .title, .body, .eventID]
            ),
        ]
        let nested: [(String, JSON.Value, [RequestField])] = [
            (
                "/v1/notify",
                ["secret": secret, "notification": ["title": "t", "body": "b", "pushType": "alert"]],
                RequestField.allCases.filter { $0.rawValue.hasPrefix("notification.") }
            ),
            (
                "/v1/device/register",
                [
                    "secret": secret, "deviceToken": "aa00",
                    "preferences": [
                        "quietHours": ["from": "22:00", "to": "06:00", "timeZone": "Europe/Berlin"]
                    ],
                ],
                // Which names are time zones is the system's business.
                RequestField.allCases.filter {
                    $0.rawValue.hasPrefix("preferences.") && $0 != .quietHoursTimeZone
                }
            ),
        ]
        var requests: [(String, JSON.Value)] = []
        for (path, base, fields) in nested {
            requests.append((path, base))
            for field in fields {
                for value in [nil] + texts.map(Optional.init) {
                    let place = field.rawValue.split(separator: ".").map(String.init)
                    requests.append((path, replacing(place[...], in: base, with: value)))
                }
            }
        }
        for (path, base, fields) in bases {
            requests.append((path, base))
            for field in fields {
                for text in [nil] + texts.map(Optional.init) {
                    guard var object = base.object else { continue }
                    object[field.rawValue] = text
                    requests.append((path, .object(object)))
                }
            }
        }
        return requests
    }()

    /// A value with the member at a place replaced.
    private static func replacing(
        _ place: ArraySlice<String>, in base: JSON.Value, with value: JSON.Value?
    ) -> JSON.Value {
        guard let name = place.first, var object = base.object else { return base }
        if place.count == 1 {
            object[name] = value
        } else {
            object[name] = replacing(place.dropFirst(), in: object[name] ?? [:], with: value)
        }
        return .object(object)
    }

    @Test("What it says of a request is what the code says, field by field and value by value")
    func agreement() async throws {
        try await RelayFixture.with { relay in
            for (path, body) in Self.requests {
                let operation = document["paths"]?[path]?["post"]
                let wanted = try #require(
                    operation?["requestBody"]?["content"]?["application/json"]?["schema"])
                let faults = schema.faults(in: body, wanted)
                let response = await relay.post(path, body)
                let isRefused = response.status == 400
                #expect(isRefused == !faults.isEmpty, "\(path) \(body): \(response.json), \(faults)")
                expect(response, isDescribedBy: operation)
            }
        }
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
                expect(response, isDescribedBy: document["paths"]?[path]?[method.description.lowercased()])
            }
            let event: JSON.Value = [
                "secret": secret, "eventType": "error", "sessionID": "s", "eventID": "e",
            ]
            await check(.get, "/health", nil, 200)
            await check(.get, "/ready", nil, 200)
            for token: JSON.Value in ["aa00", "bb00"] {
                await check(.post, "/v1/device/register", ["secret": secret, "deviceToken": token], 200)
            }
            await check(.post, "/v1/device/register", ["secret": secret, "deviceToken": "cc00"], 409)
            await relay.loop.run { _ in
                relay.production.value.script = { push in
                    push.deviceToken.text == "aa00" ? .accepted(push) : .rejected(410, "Unregistered")
                }
            }
            relay.time.withLock { $0 += 10 }
            await check(.post, "/v1/event", event, 200)
            let notify: JSON.Value = ["secret": secret, "notification": ["title": "t"]]
            await check(.post, "/v1/notify", notify, 200)
            await check(
                .post, "/v1/notify",
                [
                    "secret": secret,
                    "notification": ["title": .string(String(repeating: "t", count: 5000))],
                ], 413)
            await check(.post, "/v1/device/list", ["secret": secret], 200)
            #expect(relay.storage.state.withLock { $0.devices.count } == 1)
            await check(
                .post, "/v1/event",
                ["secret": secret, "eventType": "error", "sessionID": "other", "eventID": "e"], 409)
            await check(.post, "/v1/device/unregister", ["secret": secret, "deviceToken": "aa00"], 200)
            relay.storage.state.withLock { $0.failure = .unavailable(logDetail: "x") }
            await relay.loop.run { _ in relay.services.value.readiness = nil }
            await check(.get, "/ready", nil, 503)
            await check(.post, "/v1/event", event, 503)
            await check(.post, "/v1/device/register", ["secret": secret, "deviceToken": "aa00"], 503)
            relay.storage.state.withLock { $0.failure = .internalFault(logDetail: "x") }
            await check(.post, "/v1/device/unregister", ["secret": secret, "deviceToken": "aa00"], 500)
        }
    }

    @Test(
        "The reader of YAML refuses what it doesn't understand",
        arguments: [
            "a: b: c", "a: |", "a:", "a: {b: c}", "a: 1\na: 2", "a:\n  b: 1\n c: 2", "- a\nb: 1", "a: 'b",
            "a: &x 1",
            "a: \"\\n\"", "a: b # c",
        ])
    func strictReader(text: String) {
        #expect(throws: SimpleYAML.Fault.self) { try SimpleYAML.parse(text) }
    }

    @Test("The reader of YAML reads what the document is written in")
    func reader() throws {
        let text = """
            # comment
            a: 1
            'b c': true
            d:
              - e: x y
                f: [g, 2]
              - "h: i"

            j: '^[a]{1,2}$'
            k: []
            """
        #expect(
            try SimpleYAML.parse(text) == [
                "a": 1, "b c": true, "d": [["e": "x y", "f": ["g", 2]], "h: i"], "j": "^[a]{1,2}$", "k": [],
            ])
    }

    /// Records what of an answer its operation doesn't describe.
    private func expect(_ response: Response, isDescribedBy operation: JSON.Value?) {
        let status = "\(response.status.rawValue)"
        guard var described = operation?["responses"]?[status] else {
            Issue.record("status \(status) is not described")
            return
        }
        if let reference = described["$ref"]?.string { described = schema.resolve(reference) ?? nil }
        for header in described["headers"]?.object?.members ?? [] {
            #expect(response.headers[header.name] != nil, "\(status) without \(header.name)")
        }
        for pair in response.headers.pairs where pair.name != "Content-Type" {
            #expect(described["headers"]?[pair.name] != nil, "\(pair.name) is not described for \(status)")
        }
        let body = described["content"]?["application/json"]?["schema"] ?? nil
        #expect(schema.faults(in: response.json, body).isEmpty, "\(schema.faults(in: response.json, body))")
    }
}
