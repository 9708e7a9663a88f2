import APNs
import JSON
import Network
import Programs
import Storage
import Testing

@testable import Relay

@Suite("The apps file", .timeLimit(.minutes(2)))
struct AppsFileTests {
    private static let good: JSON.Value = [
        "bundleIDs": ["org.example.a"], "teamID": "ABCDE12345", "keyID": "KEY1234567",
        "privateKey": .string(TestKey.pem),
    ]

    /// An app with some members replaced; `null` removes one.
    private static func app(_ members: JSON.Value = [:]) -> JSON.Value {
        var object = good.object ?? JSON.Object()
        for member in members.object?.members ?? [] {
            if member.value.isNull {
                object[member.name] = Optional.none
            } else {
                object[member.name] = member.value
            }
        }
        return .object(object)
    }

    private func read(
        _ text: String, files: [String: String] = [:], keeping old: [AppKey] = []
    ) -> Result<Apps, AppsFileError> {
        AppsFile.read("/etc/relay/apps.json", keeping: old) { path in
            if path == "/etc/relay/apps.json" { return .success(Array(text.utf8)) }
            return files[path].map { .success(Array($0.utf8)) } ?? .failure(FileError("No such file"))
        }
    }

    private func read(_ apps: [JSON.Value], files: [String: String] = [:]) -> Result<Apps, AppsFileError> {
        read(text(apps), files: files)
    }

    private func text(_ apps: [JSON.Value], defaultBundleID: String? = nil) -> String {
        var object = JSON.Object()
        object["apps"] = .array(apps)
        object["defaultBundleID"] = defaultBundleID.map { .string($0) }
        return String(decoding: JSON.Value.object(object).encoded(), as: UTF8.self)
    }

    private func problems(_ result: Result<Apps, AppsFileError>) -> [String] {
        if case .failure(let problems) = result { problems.all } else { [] }
    }

    @Test("Several apps, each with its key, environments, sound and time to live")
    func several() throws {
        let second: JSON.Value = [
            "bundleIDs": ["org.example.b", "org.example.c"], "teamID": "ZYXWV98765", "keyID": "KEY7654321",
            "privateKeyFile": "second.p8", "environments": ["sandbox"], "sound": "none", "ttl": "0s",
        ]
        let third = Self.app(["bundleIDs": ["org.example.d"], "sound": "ping.caf"])
        let apps = try read(
            text([Self.app(), second, third], defaultBundleID: "org.example.c"),
            files: ["/etc/relay/second.p8": TestKey.secondPEM]
        ).get()
        let a = try #require(apps["org.example.a"])
        let b = try #require(apps["org.example.b"])
        let d = try #require(apps["org.example.d"])
        #expect(apps.count == 4 && apps.keys.count == 2)
        #expect(a.key.teamID == "ABCDE12345" && b.key.keyID == "KEY7654321")
        #expect(a.key === d.key && a.key !== b.key && b.key === apps["org.example.c"]?.key)
        #expect(a.push == PushSettings() && a.environments == [.production, .sandbox])
        #expect(b.push == PushSettings(sound: nil, timeToLive: .zero) && b.environments == [.sandbox])
        #expect(d.push.sound == "ping.caf")
        #expect(apps["org.example.x"] == nil)
        #expect(apps.defaultBundleID?.text == "org.example.c")
        #expect(apps.bundleIDs?.map(\.text).sorted().last == "org.example.d")
    }

    @Test(
        "A key that comes again when the file is read again stays the same object, and so do its connections")
    func reread() throws {
        let first = try read([Self.app()]).get()
        let changed = text([
            Self.app(["sound": "none"]),
            Self.app([
                "bundleIDs": ["org.example.b"], "teamID": "ZYXWV98765",
                "privateKey": .string(TestKey.secondPEM),
            ]),
        ])
        let second = try read(changed, keeping: first.keys).get()
        #expect(second["org.example.a"]?.key === first["org.example.a"]?.key)
        #expect(second["org.example.a"]?.push.sound == nil)
        // Another private key with the same identifiers is a different key.
        let rolled = text([Self.app(["privateKey": .string(TestKey.secondPEM)])])
        let third = try read(rolled, keeping: second.keys).get()
        #expect(third["org.example.a"]?.key !== first["org.example.a"]?.key)
    }

    @Test("Each problem has its place, and none shows a key", arguments: faults)
    func problem(fault: (app: JSON.Value, problem: String)) {
        #expect(problems(read([fault.app])) == [fault.problem])
    }

    private static let faults: [(app: JSON.Value, problem: String)] = [
        (app(["teamID": nil]), "apps[0].teamID is missing"),
        (app(["keyID": nil]), "apps[0].keyID is missing"),
        (app(["privateKey": nil]), "apps[0].privateKey or apps[0].privateKeyFile is missing"),
        (
            app(["privateKeyFile": "a.p8"]),
            "apps[0].privateKey and apps[0].privateKeyFile are both set; set one of them"
        ),
        (
            app(["privateKey": nil, "privateKeyFile": "no.p8"]),
            "apps[0].privateKeyFile: the file \"/etc/relay/no.p8\" can't be read: No such file"
        ),
        (app(["teamID": "x"]), "apps[0].teamID is \"x\": expected 10 characters of A-Z and 0-9"),
        (app(["teamID": 5]), "apps[0].teamID must be a string: 10 characters of A-Z and 0-9"),
        (
            app(["privateKey": .string(TestKey.p384PEM)]),
            "apps[0].privateKey: it is on another curve; APNs requires P-256"
        ),
        (
            app(["privateKey": "secret"]),
            "apps[0].privateKey: it is neither the text of a .p8 file (-----BEGIN PRIVATE KEY-----) nor base64 of it"
        ),
        (app(["bundleIDs": []]), "apps[0].bundleIDs must be a list of at least one bundle identifier"),
        (app(["bundleIDs": "a"]), "apps[0].bundleIDs must be a list of at least one bundle identifier"),
        (
            app(["bundleIDs": ["a", "b c"]]),
            "apps[0].bundleIDs[1] must be 1 to 155 characters of A-Z a-z 0-9 . -"
        ),
        (app(["bundleIDs": ["a", "a"]]), "apps[0].bundleIDs[1] is \"a\", which apps[0] already lists"),
        (
            app(["environments": ["production", "live"]]),
            "apps[0].environments must be a list of \"production\", \"sandbox\" or both, each once"
        ),
        (
            app(["environments": []]),
            "apps[0].environments must be a list of \"production\", \"sandbox\" or both, each once"
        ),
        (app(["ttl": "31d"]), "apps[0].ttl is \"31d\": expected a duration from 0s to 30d"),
        (app(["sound": ""]), "apps[0].sound is \"\": expected 1 to 64 printable ASCII characters"),
        (app(["sounds": "x"]), "apps[0].sounds is unknown; did you mean sound?"),
        (["x"], "apps[0] must be an object"),
    ]

    @Test("All problems come at once, those between apps too")
    func allAtOnce() {
        let apps = [
            Self.app(), Self.app(["privateKey": .string(TestKey.secondPEM), "ttl": "1"]), [],
        ]
        #expect(
            problems(read(text(apps, defaultBundleID: "org.example.z"))) == [
                "apps[1].bundleIDs[0] is \"org.example.a\", which apps[0] already lists",
                "apps[1]: key KEY1234567 of team ABCDE12345 has a different private key in apps[0]",
                "apps[1].ttl is \"1\": expected a number with its unit: 500ms, 10s, 5m, 24h, 30d",
                "apps[2] must be an object",
                "defaultBundleID is not among the apps' bundleIDs",
            ])
    }

    @Test(
        "What is no list of apps is one problem",
        arguments: [
            ("", "not valid JSON: the text ends too early (at byte 0)"),
            (
                "{\"apps\":[],\"apps\":[]}",
                "not valid JSON: a name occurs twice in an object (at byte 11)"
            ),
            ("[]", "it must be a JSON object"), ("{}", "apps must be a list of at least one app"),
            ("{\"apps\":[]}", "apps must be a list of at least one app"),
        ])
    func noList(text: String, problem: String) {
        #expect(problems(read(text)) == [problem])
    }

    @Test("A file that can't be read is a problem")
    func unreadable() {
        let result = AppsFile.read("apps.json") { _ in .failure(FileError("Permission denied")) }
        #expect(problems(result) == ["the file \"apps.json\" can't be read: Permission denied"])
    }
}

@Suite("Apps in requests and pushes", .timeLimit(.minutes(2)))
struct AppsTests {
    private static func apps() throws -> Apps {
        let a = try #require(Topic("org.example.a"))
        let b = try #require(Topic("org.example.b"))
        return Apps([
            a: PushApp(
                key: TestKey.first, environments: [.production],
                push: PushSettings(sound: "a.caf", timeToLive: .seconds(60))),
            b: PushApp(key: TestKey.second, push: PushSettings(sound: nil, timeToLive: .zero)),
        ])
    }

    @Test(
        "A bundle outside the apps is refused at registration, and so is an environment that its app isn't in"
    )
    func registration() async throws {
        var options = RelayFixture.Options()
        options.apps = try Self.apps()
        try await RelayFixture.with(options) { relay in
            func register(_ bundleID: String?, _ environment: String) async -> JSON.Value {
                var object = JSON.Object()
                object["secret"] = .string(RelayFixture.secret)
                object["deviceToken"] = "aa00"
                object["bundleId"] = bundleID.map { .string($0) }
                object["apnsEnv"] = .string(environment)
                return await relay.post("/v1/device/register", .object(object)).json
            }
            #expect(await register("org.example.a", "production")["ok"] == true)
            #expect(await register("org.example.b", "sandbox")["ok"] == true)
            #expect(await register("org.example.c", "production")["code"] == "unknown_bundle")
            #expect(await register(nil, "production")["code"] == "missing_field")
            #expect(
                await register("org.example.a", "sandbox") == [
                    "ok": false,
                    "error": "A field is not valid. This relay pushes to this app only in production.",
                    "code": "invalid_field", "field": "apnsEnv",
                ])
        }
    }

    @Test("Each device gets its app's key, sound and expiration; what no app takes fails by name")
    func pushes() async throws {
        var options = RelayFixture.Options()
        options.apps = try Self.apps()
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key, bundle: "org.example.a")
            relay.storage.add("bb00", under: RelayFixture.key, bundle: "org.example.b")
            relay.storage.add("cc00", under: RelayFixture.key, bundle: "org.example.c")
            relay.storage.add("dd00", under: RelayFixture.key, bundle: "org.example.a", environment: .sandbox)
            let answer = await relay.event().json
            #expect(answer["sent"] == 2)
            #expect(
                answer["deliveries"]?.array?.map { $0["reason"] } == [
                    nil, nil, "UnknownBundle", "EnvironmentNotAllowed",
                ])
            let (pushes, keys) = await relay.onLoop {
                ($0.production.pushes, ($0.services.senders as? ScriptedSenders)?.keys.map(\.keyID) ?? [])
            }
            #expect(pushes.map(\.deviceToken.text) == ["aa00", "bb00"])
            #expect(pushes.map(\.notification.expiration) == [1_800_000_060, 0])
            #expect(keys == ["KEY1234567", "KEY7654321"])
            let sounds = try pushes.map {
                try JSON.parse($0.notification.payload, maxBytes: 4096)["aps"]?["sound"]
            }
            #expect(sounds == ["a.caf", nil])
            #expect(await relay.onLoop { $0.services.slots.taken } == 0)
        }
    }

    @Test("An app in one environment has no other to try")
    func otherEnvironment() async throws {
        var options = RelayFixture.Options()
        options.apps = try Self.apps()
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key, bundle: "org.example.a")
            await relay.loop.run { _ in
                relay.production.value.script = { _ in .rejected(400, "BadDeviceToken") }
            }
            let answer = await relay.event().json
            #expect(answer["deliveries"]?.array?.map { $0["reason"] } == ["BadDeviceToken"])
            #expect(await relay.onLoop { $0.sandbox.pushes.count } == 0)
            #expect(relay.storage.state.withLock { $0.devices.count } == 1)
        }
    }
}
