import APNs
import Cryptography
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("ntfy's publish", .timeLimit(.minutes(2)))
struct NtfyTests {
    private func publish(
        _ relay: RelayFixture, _ token: String, _ headers: [(name: String, value: String)] = [],
        _ body: String = "Backup failed", to target: String = "/alerts", method: Method = .post
    ) async -> Response {
        await relay.answer(
            Request(
                method: method, target: target, headers: headers + [("Authorization", "Bearer \(token)")],
                body: Array(body.utf8)))
    }

    @Test("A text rings with the topic as kind and thread, and the answer is ntfy's")
    func text() async throws {
        try await RelayFixture.withSender { relay, token in
            let answer = await publish(relay, token, method: .put)
            #expect(answer.status == 200)
            var shown = answer.json.object ?? JSON.Object()
            #expect(shown["id"]?.string?.isEmpty == false)
            shown["id"] = nil
            #expect(
                JSON.Value.object(shown)
                    == [
                        "time": 1_800_000_000, "event": "message", "topic": "alerts",
                        "message": "Backup failed",
                    ])
            let payload = await relay.lastPayload
            #expect(payload["kind"] == "alerts")
            #expect(
                payload["aps"] == [
                    "alert": ["body": "Backup failed"], "sound": "default", "thread-id": "alerts",
                ])
        }
    }

    @Test("Parameters come in the header, with or without X-, or in the query")
    func parameters() async throws {
        try await RelayFixture.withSender { relay, token in
            let headers = [
                ("X-Title", "=?UTF-8?B?w4RyZ2Vy?="), ("Priority", "urgent"), ("Tags", "warning, db"),
                ("Click", "https://example.org/a"), ("X-Icon", "https://example.org/i.png"),
                ("Attach", "https://example.org/log"), ("Markdown", "yes"), ("Cache", "no"),
            ].map { (name: $0.0, value: $0.1) }
            // HTTP's own Priority isn't ntfy's.
            #expect(await publish(relay, token, [(name: "Priority", value: "u=3, i")]).status == 200)
            #expect(await publish(relay, token, headers).status == 200)
            let first = await relay.lastPayload
            #expect(first["aps"]?["alert"]?["title"] == "⚠️ Ärger")
            #expect(first["aps"]?["alert"]?["body"] == "Backup failed\nhttps://example.org/log")
            #expect(first["aps"]?["interruption-level"] == "time-sensitive")
            #expect(first["url"] == "https://example.org/a" && first["icon"] == "https://example.org/i.png")
            #expect(first["tags"] == ["db"])
            let query = "/alerts?title=A+b%21&p=1&message=one%5Cntwo"
            #expect(await publish(relay, token, [], "", to: query).status == 200)
            let second = await relay.lastPayload
            #expect(second["aps"]?["alert"] == ["title": "A b!", "body": "one\ntwo"])
            #expect(second["aps"]?["sound"] == nil && second["aps"]?["interruption-level"] == "passive")
            #expect(await publish(relay, token, [], "").json["message"] == "triggered")
        }
    }

    @Test("JSON goes to the root, as Uptime Kuma and Apprise send it")
    func json() async throws {
        try await RelayFixture.withSender { relay, token in
            // What Uptime Kuma's server/notification-providers/ntfy.js sends.
            let kuma = #"""
                {"topic":"Uptime","message":"connect ECONNREFUSED","priority":4,"title":"Web Down [Uptime-Kuma]",
                "tags":["red_circle"],"actions":[{"action":"view","label":"Open Web","url":"https://example.org"}]}
                """#
            let answer = await publish(relay, token, [], kuma, to: "/")
            #expect(answer.status == 200 && answer.json["tags"] == ["red_circle"])
            let payload = await relay.lastPayload
            #expect(payload["aps"]?["alert"]?["title"] == "🔴 Web Down [Uptime-Kuma]")
            #expect(payload["url"] == "https://example.org" && payload["kind"] == "uptime")
            #expect(await publish(relay, token, [], #"{"message":"m"}"#, to: "/").status == 400)
            #expect(await publish(relay, token, [], #"{"topic":"v1","message":"m"}"#, to: "/").status == 400)
            #expect(await publish(relay, token, [], "m", to: "/").json["code"] == 40_000)
        }
    }

    @Test("Actions other than links have no effect, and the answer says so")
    func actions() async throws {
        try await RelayFixture.withSender { relay, token in
            let actions = "http, Close, https://example.org/c; view, Open, https://example.org/o, clear=true"
            let answer = await publish(relay, token, [(name: "Actions", value: actions)])
            #expect(answer.status == 200 && answer.json["notes"]?.array?.count == 1)
            #expect(await relay.lastPayload["url"] == "https://example.org/o")
        }
    }

    @Test(
        "A delay is stored as a schedule",
        arguments: [("30m", 1_800), ("2 hours", 7_200), ("1d", 86_400), ("1800000060", 60)])
    func delay(_ text: String, _ seconds: Int) async throws {
        try await RelayFixture.withSender { relay, token in
            let answer = await publish(relay, token, [(name: "X-Delay", value: text)])
            #expect(answer.status == 200 && answer.json["time"]?.int == 1_800_000_000 + seconds)
            let stored = relay.storage.state.withLock { $0.schedules.map(\.schedule.nextAt) }
            #expect(stored == [1_800_000_000_000 + EpochMilliseconds(seconds) * 1_000])
            #expect(await relay.onLoop { $0.production.pushes.isEmpty })
        }
    }

    @Test(
        "What the relay can't do is refused",
        arguments: [
            ("Email", "a@example.org"), ("X-Call", "yes"), ("Filename", "a.txt"), ("Priority", "6"),
            ("Delay", "tomorrow, 3pm"), ("In", "99999d"),
        ])
    func refused(_ name: String, _ value: String) async throws {
        try await RelayFixture.withSender { relay, token in
            let answer = await publish(relay, token, [(name: name, value: value)])
            #expect(answer.status == 400 && answer.json["http"] == 400)
            #expect(await relay.onLoop { $0.production.pushes.isEmpty })
        }
    }

    @Test("The token comes as Bearer, as the password of Basic, or in the query, and is in no log line")
    func tokens() async throws {
        try await RelayFixture.withSender { relay, token in
            func base64(_ text: String) -> String { Base64.urlText(Array(text.utf8)) }
            let basic = "Basic " + base64(":" + token)
            for (header, target) in [
                ("Bearer " + token, "/a"), (basic, "/a"), ("Basic " + base64("user:" + token), "/a"),
                (nil, "/a?auth=" + base64(basic)),
            ] {
                let answer = await relay.answer(
                    Request(
                        method: .post, target: target, headers: header.map { [("Authorization", $0)] } ?? [],
                        body: [0x61]))
                #expect(answer.status == 200, "\(target)")
            }
            let none = await relay.answer(Request(method: .post, target: "/a", body: [0x61]))
            #expect(none.status == 401 && none.json["code"] == 40_101 && none.json["http"] == 401)
            _ = try await relay.lines.closed()
            #expect(!relay.lines.text.contains(token) && !relay.lines.text.contains(base64(basic)))
        }
    }
}
