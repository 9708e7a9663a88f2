import APNs
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("Doors for senders of other relays", .timeLimit(.minutes(2)))
struct DoorTests {
    private static let token = AccessTokenText.make()

    @Test("A path without a route of the relay's own is a door only if it has another relay's form")
    func paths() {
        let doors: [(Method, String, RouteName)] = [
            (.post, "/alerts", .ntfy), (.put, "/A_b-9", .ntfy), (.post, "/", .ntfy),
            (.post, "/" + String(repeating: "a", count: 64), .ntfy), (.post, "/message", .gotify),
            (.post, "/push", .bark), (.get, "/ping", .doorProbe), (.get, "/version", .doorProbe),
            (.get, "/\(Self.token)", .barkPath), (.post, "/\(Self.token)/t/b", .barkPath),
            (.get, "/\(Self.token)/t/s/b", .barkPath), (.post, "/--/api/v2/push/send", .expoSend),
            (.post, "/--/api/v2/push/getReceipts", .expoReceipts),
        ]
        for (method, path, door) in doors { #expect(Doors.door(method, path) == door, "\(method) \(path)") }
        let others: [(Method, String)] = [
            (.get, "/alerts"), (.delete, "/alerts"), (.post, "/alerts/json"), (.post, "/a.b"),
            (.post, "/a%20b"),
            (.post, "/" + String(repeating: "a", count: 65)), (.get, "/"), (.get, "/message"),
            (.put, "/push"),
            (.post, "/ping"), (.get, "/\(Self.token)/1/2/3/4"), (.put, "/\(Self.token)"), (.post, "//"),
            (.options, "*"), (.get, "/--/api/v2/push/send"), (.post, "/--/api/v2/push"),
        ]
        for (method, path) in others { #expect(Doors.door(method, path) == nil, "\(method) \(path)") }
    }

    @Test("No topic has the name of a route of the relay's own")
    func reserved() {
        for route in RouteName.allCases where !RouteName.doors.contains(route) && route != .none {
            let first = route.path.split(separator: "/")[0]
            #expect(Doors.reserved.contains(String(first)), "\(route.rawValue)")
            #expect(Doors.door(.post, "/" + first) == nil)
            #expect(Doors.door(.post, "/" + first.uppercased()) == nil)
        }
    }

    @Test("The relay's own paths answer as before, and without doors there are none")
    func routing() async throws {
        for hasDoors in [true, false] {
            var options = RelayFixture.Options()
            options.hasDoors = hasDoors
            try await RelayFixture.with(options) { relay in
                for (method, path, status) in [
                    (Method.post, "/health", 405), (.post, "/v1", 404), (.post, "/v1/nothing", 404),
                    (.get, "/nothing", 404),
                ] {
                    #expect(
                        await relay.answer(Request(method: method, target: path)).status.rawValue == status)
                }
                for (method, path, status) in [
                    (Method.post, "/alerts", 401), (.post, "/push", 401), (.get, "/\(Self.token)/b", 401),
                    (.get, "/ping", 200), (.get, "/version", 200), (.post, "/--/api/v2/push/send", 400),
                    (.post, "/--/api/v2/push/getReceipts", 400),
                ] {
                    let answer = await relay.answer(Request(method: method, target: path))
                    #expect(answer.status.rawValue == (hasDoors ? status : 404), "\(path)")
                }
            }
        }
    }

    @Test("Probes get what Bark's and Gotify's clients expect")
    func probes() async throws {
        try await RelayFixture.with { relay in
            let ping = await relay.answer(Request(target: "/ping"))
            #expect(ping.json == ["code": 200, "message": "pong", "timestamp": 1_800_000_000])
            let version = await relay.answer(Request(target: "/version"))
            #expect(version.json["version"]?.string != nil)
        }
    }

    @Test("Every door requires a send token, and counts against the same limits")
    func admission() async throws {
        var options = RelayFixture.Options()
        options.rates.eventsPerMinute = 1
        options.rates.unknownSecretsPerMinute = 4
        for door in [
            Request(method: .post, target: "/alerts", headers: [], body: []),
            Request(method: .post, target: "/message", headers: [], body: Array(#"{"message":"m"}"#.utf8)),
            Request(method: .post, target: "/push", headers: [], body: Array(#"{"body":"m"}"#.utf8)),
        ] {
            try await RelayFixture.with(options) { relay in
                relay.storage.add("aa00", under: RelayFixture.key)
                func send(_ token: String) async -> Int {
                    let header = door.path == "/message" ? "X-Gotify-Key" : "Authorization"
                    var body = door.body
                    if door.path == "/push" { body = Array(#"{"body":"m","device_key":"\#(token)"}"#.utf8) }
                    let value = door.path == "/message" ? token : "Bearer \(token)"
                    return await relay.answer(
                        Request(method: .post, target: door.path, headers: [(header, value)], body: body)
                    ).status.rawValue
                }
                let reading = try await relay.token(.read)
                #expect(await send(reading) == 403)
                #expect(await send("not a token") == 401)
                #expect(await send(RelayFixture.secret) == 401)
                #expect(await send(AccessTokenText.make()) == 401)
                #expect(await send(AccessTokenText.make()) == 429)
                #expect(await relay.onLoop { $0.production.pushes.isEmpty })
            }
            try await RelayFixture.with(options) { relay in
                relay.storage.add("aa00", under: RelayFixture.key)
                let token = try await relay.token(.send)
                #expect(await relay.event().status == 200)
                let body = Array(#"{"body":"m","message":"m","device_key":"\#(token)"}"#.utf8)
                let answer = await relay.answer(
                    Request(
                        method: .post, target: door.path, headers: [("Authorization", "Bearer \(token)")],
                        body: body))
                #expect(answer.status == 429 && answer.headers["Retry-After"] != nil)
            }
        }
    }
}

extension RelayFixture {
    /// The payload of the last push.
    var lastPayload: JSON.Value {
        get async {
            await onLoop {
                (try? JSON.parse($0.production.pushes.last?.notification.payload ?? [], maxBytes: 10_000))
                    ?? nil
            }
        }
    }

    /// Runs `body` with a phone and a token that sends to it.
    static func withSender(_ body: (RelayFixture, String) async throws -> Void) async throws {
        try await with { relay in
            relay.storage.add("aa00", under: key)
            try await body(relay, try await relay.token(.send))
        }
    }
}
