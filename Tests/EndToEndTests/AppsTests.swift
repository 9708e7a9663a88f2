import ChildProcess
import Foundation
import JSON
import Network
import Testing

@Suite(.timeLimit(.minutes(2)))
struct AppsTests {
    private static let secret = "a secret of the test"

    /// The keys of two teams, one of which has two keys, and the file with their apps.
    private struct Files {
        static let teams = [
            (team: "AAAAA11111", key: "KEYAAAAAAA"), (team: "BBBBB22222", key: "KEYBBBBBBB"),
            (team: "AAAAA11111", key: "KEYCCCCCCC"),
        ]
        let directory: TemporaryDirectory

        init() async throws {
            directory = try TemporaryDirectory()
            for (_, key) in Self.teams {
                _ = try await Program("apns-simulator", ["key", "--out", directory.file(key)]).ended()
            }
        }

        var path: String { directory.file("apps.json") }

        /// Flags that make the simulator accept provider tokens signed with these keys.
        var simulatorFlags: [String] {
            Self.teams.flatMap { team, key in
                ["--public-key", directory.file("\(key).pub"), "--key-id", key, "--team-id", team]
            }
        }

        /// The relay's settings: the apps file and no setting that describes a single app.
        var settings: [String: String] {
            [
                "APNS_APPS_FILE": path, "APNS_TEAM_ID": "", "APNS_KEY_ID": "", "APNS_PRIVATE_KEY_FILE": "",
                "APNS_DEFAULT_BUNDLE_ID": "",
            ]
        }

        /// Writes the apps file from bundle identifiers and team numbers.
        func write(_ apps: [(bundleID: String, team: Int)]) throws {
            let entries = apps.map { bundleID, team -> JSON.Value in
                [
                    "bundleIDs": [.string(bundleID)], "teamID": .string(Self.teams[team].team),
                    "keyID": .string(Self.teams[team].key), "privateKeyFile": .string(Self.teams[team].key),
                    "environments": ["production"], "sound": .string("\(bundleID).caf"),
                ]
            }
            try write(["apps": .array(entries)])
        }

        func write(_ value: JSON.Value) throws {
            try Data(value.encoded()).write(to: URL(fileURLWithPath: path))
        }
    }

    private func register(_ stack: Stack, _ token: String, _ bundleID: String) async throws -> JSON.Value {
        var body = JSON.Object()
        body["secret"] = .string(Self.secret)
        body["deviceToken"] = .string(token)
        body["bundleId"] = .string(bundleID)
        return try await stack.http.post("/v1/device/register", body).json()
    }

    @Test("Apps of two teams have separate connections; apps with the same key share them")
    func teams() async throws {
        let files = try await Files()
        try files.write([("com.example.a", 0), ("com.example.b", 1), ("com.example.c", 0)])
        let settings = files.settings.merging(["RELAY_LOOPS": "1"]) { $1 }
        try await Stack.run(settings, simulator: files.simulatorFlags) { stack in
            for (number, bundleID) in ["com.example.a", "com.example.b", "com.example.c"].enumerated() {
                #expect(try await register(stack, token(number), bundleID)["ok"] == true)
            }
            #expect(try await register(stack, token(9), "com.example.d")["code"] == "unknown_bundle")
            for _ in 0..<3 { #expect(try await stack.event(Self.secret).sent == 3) }
            let pushes = try await stack.control.pushes()
            #expect(pushes.count == 9 && pushes.allSatisfy { $0["status"] == 200 })
            for push in pushes {
                let topic = push["topic"]?.string ?? ""
                #expect(push["payload"]?["aps"]?["sound"] == .string("\(topic).caf"))
            }
            func connections(_ topics: Set<String>) -> Set<Int> {
                Set(
                    pushes.filter { topics.contains($0["topic"]?.string ?? "") }
                        .compactMap { $0["connection"]?.int })
            }
            #expect(connections(["com.example.a", "com.example.c"]).count == 1)
            #expect(connections(["com.example.a"]).isDisjoint(with: connections(["com.example.b"])))
        }
    }

    @Test("SIGHUP rereads the file: apps are added and removed, and an invalid file changes nothing")
    func reload() async throws {
        let files = try await Files()
        try files.write([("com.example.a", 0)])
        try await Stack.run(files.settings, simulator: files.simulatorFlags) { stack in
            #expect(try await register(stack, token(1), "com.example.a")["ok"] == true)
            #expect(try await stack.event(Self.secret).sent == 1)

            try files.write(["apps": [["bundleIDs": ["com.example.b"], "teamID": "no team"]]])
            stack.relay.signal(SIGHUP)
            _ = try await stack.relay.line("the problems") { $0.contains("unchanged") }
            let output = stack.relay.output
            #expect(output.contains("apps[0].teamID is") && output.contains("apps[0].keyID is missing"))
            #expect(try await stack.event(Self.secret).sent == 1)
            #expect(try await register(stack, token(2), "com.example.b")["code"] == "unknown_bundle")

            try files.write([("com.example.b", 1)])
            stack.relay.signal(SIGHUP)
            _ = try await stack.relay.line("the reload") { $0.contains("reload") && $0.contains("keys") }
            #expect(try await register(stack, token(2), "com.example.b")["ok"] == true)
            let result = try await stack.event(Self.secret)
            #expect(result.sent == 1 && result.reason(token(1)) == "UnknownBundle")
            #expect(try await register(stack, token(3), "com.example.a")["code"] == "unknown_bundle")
        }
    }

    @Test("A team's key is replaced while pushes wait: none fails, and each arrives")
    func rotation() async throws {
        let files = try await Files()
        try files.write([("com.example.a", 0)])
        let settings = files.settings.merging(["RELAY_RETRY_DELAY_MAX": "1s"]) { $1 }
        try await Stack.run(settings, simulator: files.simulatorFlags) { stack in
            for number in 1...2 {
                #expect(try await register(stack, token(number), "com.example.a")["ok"] == true)
            }
            let rule: JSON.Value = [
                "match": ["token": .string(token(2))], "reason": "TooManyRequests", "count": 1,
            ]
            try await stack.control.put("/rules", rule)
            let before = try await stack.event(Self.secret)
            #expect(before.sent == 1 && before.queued == 1)

            try files.write([("com.example.a", 2)])
            stack.relay.signal(SIGHUP)
            _ = try await stack.relay.line("the reload") { $0.contains("reload") && $0.contains("keys") }
            #expect(try await stack.event(Self.secret).sent == 2)
            let waited = try await eventually {
                try await stack.control.pushes(token: token(2)).filter { $0["status"] == 200 }
            } until: {
                $0.count == 2
            }
            #expect(waited.count == 2)
            // APNs binds a connection to its first key.
            let connections = try await stack.control.pushes(token: token(1)).map { $0["connection"]?.int }
            #expect(connections.count == 2 && connections[0] != connections[1])
        }
    }

    @Test("An invalid file at the start ends the relay with 78 and a list of every problem")
    func start() async throws {
        let files = try await Files()
        try files.write(["apps": [["bundleIDs": ["com.example.b", "com.example.b"], "keyID": "KEYAAAAAAA"]]])
        let settings = files.settings.merging(["APNS_SOUND": "ping.caf", "RELAY_LOG_FORMAT": "text"]) { $1 }
        let relay = try Program("relay", ["serve"], environment: settings)
        #expect(try await relay.ended() == 78)
        for problem in [
            "APNS_APPS_FILE describes the apps, but APNS_SOUND also describes one; unset one of them",
            "APNS_APPS_FILE: apps[0].bundleIDs[1] is \"com.example.b\", which apps[0] already lists",
            "APNS_APPS_FILE: apps[0].teamID is missing",
            "APNS_APPS_FILE: apps[0].privateKey or apps[0].privateKeyFile is missing",
        ] {
            #expect(relay.output.contains(problem), "\(relay.output)")
        }
    }
}
