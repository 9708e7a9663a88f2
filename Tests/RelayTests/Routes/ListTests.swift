import APNs
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("Lists of devices", .timeLimit(.minutes(2)))
struct ListTests {
    private static let secret = JSON.Value.string(RelayFixture.secret)

    @Test("A secret's devices come with what they told, masked, and another secret's don't")
    func list() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("ff00", under: SecretHasher().key(of: Secret("another-secret-of-mine")))
            let token = "00112233445566778899aabbccddeeff"
            _ = await relay.post(
                "/v1/device/register",
                [
                    "secret": Self.secret, "deviceToken": .string(token), "apnsEnv": "sandbox",
                    "deviceName": "Ada's phone", "deviceModel": "iPhone18,1", "osVersion": "26.1",
                    "appVersion": "1.2 (34)",
                ])
            relay.time.withLock { $0 += 1500 }
            _ = await relay.post(
                "/v1/device/register", ["secret": Self.secret, "deviceToken": .string(token)])
            let response = await relay.post("/v1/device/list", ["secret": Self.secret])
            #expect(response.status == 200)
            #expect(
                response.json == [
                    "ok": true,
                    "devices": [
                        [
                            "device": "…ccddeeff", "transport": "apns",
                            "bundleId": "org.example.default", "apnsEnv": "production",
                            "createdAt": "2027-01-15T08:00:00.000Z", "updatedAt": "2027-01-15T08:00:01.500Z",
                            "deviceName": "Ada's phone", "deviceModel": "iPhone18,1", "osVersion": "26.1",
                            "appVersion": "1.2 (34)",
                        ]
                    ],
                ])
            #expect(!String(decoding: response.body, as: UTF8.self).contains(token))
        }
    }

    @Test("The last push of each device stands with its outcome")
    func lastPush() async throws {
        try await RelayFixture.with { relay in
            for token in ["aa00", "bb00", "cc00"] { relay.storage.add(token, under: RelayFixture.key) }
            await relay.loop.run { _ in
                relay.production.value.script = { push in
                    push.deviceToken.text == "aa00" ? .accepted(push) : .rejected(400, "BadTopic")
                }
            }
            _ = await relay.event(["eventType": "error"])
            relay.storage.add("dd00", under: RelayFixture.key)
            let log = await relay.onLoop { $0.services.shared.deliveryLog }
            log.finish()
            await log.run()
            let devices = await relay.post("/v1/device/list", ["secret": Self.secret]).json["devices"]?.array
            #expect(
                devices?.map { $0["lastPush"] } == [
                    ["at": "2027-01-15T08:00:00.000Z", "eventType": "error", "status": "sent"],
                    [
                        "at": "2027-01-15T08:00:00.000Z", "eventType": "error", "status": "failed",
                        "reason": "BadTopic",
                    ],
                    [
                        "at": "2027-01-15T08:00:00.000Z", "eventType": "error", "status": "failed",
                        "reason": "BadTopic",
                    ], nil,
                ])
        }
    }

    @Test("A secret without devices has an empty list; a failing storage is 503")
    func none() async throws {
        try await RelayFixture.with { relay in
            #expect(
                await relay.post("/v1/device/list", ["secret": Self.secret]).json == [
                    "ok": true, "devices": [],
                ])
            relay.storage.state.withLock { $0.failure = .unavailable(logDetail: "x") }
            #expect(await relay.post("/v1/device/list", ["secret": Self.secret]).status == 503)
        }
    }

    @Test(
        "What a device tells of itself has 1 to 128 bytes",
        arguments: ["deviceName", "deviceModel", "osVersion", "appVersion"])
    func details(field: String) async throws {
        try await RelayFixture.with { relay in
            func register(_ value: JSON.Value) async -> Response {
                var object = JSON.Object()
                object["secret"] = Self.secret
                object["deviceToken"] = "aa00"
                object[field] = value
                return await relay.post("/v1/device/register", .object(object))
            }
            for value: JSON.Value in [
                "", "a\0", .string(String(repeating: "é", count: 65)), .null, 1, [], [:],
            ] {
                let response = await register(value)
                #expect(response.status == 400 && response.json["field"] == .string(field))
            }
            #expect(await register(.string(String(repeating: "é", count: 64))).status == 200)
        }
    }
}
