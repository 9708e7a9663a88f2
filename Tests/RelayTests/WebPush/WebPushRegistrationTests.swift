import HTTPServer
import JSON
import Network
import Storage
import Testing
import WebPush

@testable import Relay

@Suite("Registering for Web Push", .timeLimit(.minutes(2)))
struct WebPushRegistrationTests {
    @Test("A browser is registered once, listed without its endpoint, and unregistered by it")
    func life() async throws {
        try await RelayFixture.with(Browser.options()) { fixture in
            let browser = Browser(page: Browser.page, members: ["deviceName": "Firefox"])
            #expect(await fixture.register(browser) == nil)
            #expect(await fixture.register(browser) == nil)
            await fixture.registerApp()
            let list = await fixture.post("/v1/device/list", ["secret": .string(RelayFixture.secret)])
            #expect(!String(decoding: list.body, as: UTF8.self).contains("wpush"))
            let devices = try #require(list.json["devices"]?.array)
            try #require(devices.count == 2)
            #expect(devices.map { $0["transport"]?.string } == ["webpush", "apns"])
            #expect(devices[0]["service"]?.string == "updates.push.services.mozilla.com")
            #expect(devices[0]["bundleId"] == nil && devices[0]["apnsEnv"] == nil)
            #expect(devices[0]["deviceName"]?.string == "Firefox")
            #expect(devices[1]["service"] == nil && devices[1]["bundleId"] != nil)
            let gone: JSON.Value = [
                "secret": .string(RelayFixture.secret), "webPush": ["endpoint": .string(browser.endpoint)],
            ]
            #expect(await fixture.post("/v1/device/unregister", gone).status == .ok)
            #expect(fixture.storage.state.withLock { $0.devices.map(\.token) } == ["00aa"])
        }
    }

    @Test("The key is public, and says whether Web Push is on")
    func key() async throws {
        let keys = try Browser.keys()
        try await RelayFixture.with(Browser.options(keys)) { fixture in
            let answer = await fixture.answer(Request(method: .get, target: "/v1/webpush/key"))
            #expect(answer.status == .ok)
            #expect(answer.json["publicKey"]?.string == keys.current.publicKeyText)
            #expect(answer.json["keyID"]?.string == keys.current.keyID)
        }
        try await RelayFixture.with { fixture in
            let answer = await fixture.answer(Request(method: .get, target: "/v1/webpush/key"))
            #expect(answer.status == 403 && answer.json["code"]?.string == "webpush_off")
            #expect(await fixture.register() == "webpush_off")
        }
    }

    @Test(
        "A wrong field is named",
        arguments: [
            ("webPush.endpoint", #"{"endpoint":"http://fcm.googleapis.com/a","keys":KEYS}"#),
            ("webPush.endpoint", #"{"endpoint":"https://127.0.0.1/a","keys":KEYS}"#),
            (
                "webPush.endpoint",
                #"{"endpoint":"https://evil.example.net/fcm.googleapis.com/a","keys":KEYS}"#
            ),
            ("webPush.endpoint", #"{"endpoint":"https://u:p@fcm.googleapis.com/a","keys":KEYS}"#),
            ("webPush.endpoint", #"{"endpoint":"https://fcm.googleapis.com:444/a","keys":KEYS}"#),
            ("webPush.endpoint", #"{"endpoint":7,"keys":KEYS}"#),
            ("webPush.keys.p256dh", #"{"endpoint":"ENDPOINT","keys":{"p256dh":"BAAA","auth":"AUTH"}}"#),
            ("webPush.keys.auth", #"{"endpoint":"ENDPOINT","keys":{"p256dh":"KEY","auth":"AAAA"}}"#),
            ("webPush.keys", #"{"endpoint":"ENDPOINT","keys":"x"}"#),
            ("webPush.page", #"{"endpoint":"ENDPOINT","keys":KEYS,"page":"javascript:alert(1)"}"#),
            ("webPush.page", #"{"endpoint":"ENDPOINT","keys":KEYS,"page":"http://localhost.evil.example/"}"#),
            ("webPush", #""https://fcm.googleapis.com/a""#),
        ])
    func wrong(_ field: String, _ webPush: String) async throws {
        let keys = #"{"p256dh":"KEY","auth":"AUTH"}"#
        let text = [
            ("KEYS", keys), ("KEY", Browser.publicKey), ("AUTH", Browser.auth),
            ("ENDPOINT", Browser().endpoint),
        ]
        .reduce(webPush) { $0.replacing($1.0, with: $1.1) }
        let wrong = try JSON.parse(Array(text.utf8), maxBytes: 4_096)
        let registration = Browser(members: ["webPush": wrong]).registration
        try await RelayFixture.with(Browser.options()) { fixture in
            let answer = await fixture.post("/v1/device/register", registration)
            #expect(answer.status == 400 && answer.json["code"]?.string == "invalid_field")
            #expect(answer.json["field"]?.string == field)
            #expect(fixture.storage.state.withLock { $0.devices.isEmpty })
        }
    }

    @Test("A missing part is named, and a device has only one transport")
    func incomplete() async throws {
        try await RelayFixture.with(Browser.options()) { fixture in
            for (field, members) in [
                ("webPush.endpoint", ["webPush": ["keys": [:]]] as JSON.Value),
                ("webPush.keys", ["webPush": ["endpoint": .string(Browser().endpoint)]]),
                (
                    "webPush.keys.auth",
                    ["webPush": ["endpoint": .string(Browser().endpoint), "keys": ["p256dh": "x"]]]
                ),
            ] {
                let browser = Browser(members: members)
                let answer = await fixture.post("/v1/device/register", browser.registration)
                #expect(answer.json["code"]?.string == "missing_field")
                #expect(answer.json["field"]?.string == field)
            }
            for field in ["deviceToken", "bundleId", "apnsEnv", "widgetPushToken"] {
                let browser = Browser(members: .object(JSON.Object(field, "00aa")))
                let answer = await fixture.post("/v1/device/register", browser.registration)
                #expect(answer.json["field"]?.string == field)
            }
        }
    }

    @Test("An operator's own push service may be on any port, and pages on this machine without TLS")
    func hosts() async throws {
        try await RelayFixture.with(Browser.options()) { fixture in
            for endpoint in ["https://push.example.org/up", "https://localhost:8443/up"] {
                #expect(
                    await fixture.register(Browser(endpoint: endpoint, page: "http://127.0.0.1:8787/app/"))
                        == nil)
            }
            #expect(await fixture.register(Browser(endpoint: "https://localhost:8444/up")) == "invalid_field")
        }
    }

    @Test("An installation that changes its transport keeps its place")
    func transportChanges() async throws {
        try await RelayFixture.with(Browser.options()) { fixture in
            await fixture.register(Browser(members: ["deviceID": "phone"]))
            let secret = RelayFixture.secret
            _ = await fixture.post(
                "/v1/device/register",
                ["secret": .string(secret), "deviceToken": "00bb", "deviceID": "phone"])
            let devices = fixture.storage.state.withLock(\.devices)
            #expect(devices.map(\.token) == ["00bb"] && devices.map(\.details.webPush) == [nil])
            #expect(await fixture.event().json["sent"]?.int == 1)
        }
    }

    @Test("A challenge reaches a browser as a visible push, and its code registers it")
    func challenge() async throws {
        let pepper = try #require(SecretHasher(pepper: Secret(String(repeating: "p", count: 32)), other: nil))
        var options = try Browser.options()
        options.hasher = pepper
        options.registration = .challenge(try #require(ChallengeCodes(pepper)))
        try await RelayFixture.with(options) { fixture in
            let answer = await fixture.post("/v1/device/register", Browser().registration)
            #expect(answer.status == 202)
            #expect(fixture.storage.state.withLock { $0.devices.isEmpty })
            let message = try #require(await fixture.onLoop { $0.webPush.messages }.first)
            let notification = try #require(message["notification"])
            #expect(notification["title"]?.string?.isEmpty == false)
            let code = try #require(notification["data"]?["challengeCode"]?.string)
            #expect(notification["data"]?["challengeID"]?.string == answer.json["challengeID"]?.string)
            #expect(await fixture.register(Browser(members: ["challengeCode": .string(code)])) == nil)
            #expect(fixture.storage.state.withLock { $0.devices.count } == 1)
        }
    }
}

extension JSON.Object {
    /// An object with one member.
    fileprivate init(_ name: String, _ value: JSON.Value) {
        self.init()
        self[name] = value
    }
}
