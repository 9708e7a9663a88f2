import APNs
import HTTPServer
import JSON
import Network
import Testing

@testable import Relay

@Suite("Gotify's messages", .timeLimit(.minutes(2)))
struct GotifyTests {
    private func post(
        _ relay: RelayFixture, _ headers: [(name: String, value: String)], _ body: String,
        to target: String = "/message"
    ) async -> Response {
        await relay.answer(
            Request(method: .post, target: target, headers: headers, body: Array(body.utf8)))
    }

    @Test("JSON and forms ring, with the token in the header or the query, and the answer is Gotify's")
    func messages() async throws {
        try await RelayFixture.withSender { relay, token in
            let body =
                #"{"title":"Backup","message":"done","priority":8,"extras":{"client::notification":{"click":{"url":"https://example.org"}}}}"#
            let answer = await post(relay, [("X-Gotify-Key", token)], body)
            #expect(
                answer.json == [
                    "id": 1_800_000_000_000, "appid": 1, "message": "done", "title": "Backup", "priority": 8,
                    "date": "2027-01-15T08:00:00.000Z",
                ])
            let payload = await relay.lastPayload
            #expect(payload["kind"] == "gotify" && payload["url"] == "https://example.org")
            #expect(payload["aps"]?["alert"] == ["title": "Backup", "body": "done"])
            #expect(payload["aps"]?["interruption-level"] == "time-sensitive")
            let form = await post(
                relay, [("Content-Type", "application/x-www-form-urlencoded")],
                "title=A&message=b+c&priority=0", to: "/message?token=\(token)")
            #expect(form.status == 200)
            #expect(await relay.lastPayload["aps"]?["alert"] == ["title": "A", "body": "b c"])
            #expect(await relay.lastPayload["aps"]?["sound"] == nil)
            let parts = [("title", "A"), ("message", "b\r\nc"), ("priority", "5")].map { name, value in
                "--x1\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n"
            }
            let several = await post(
                relay, [("X-Gotify-Key", token), ("Content-Type", "multipart/form-data; boundary=\"x1\"")],
                parts.joined() + "--x1--\r\n")
            #expect(several.status == 200)
            #expect(await relay.lastPayload["aps"]?["alert"] == ["title": "A", "body": "b\r\nc"])
            // A boundary has at most 70 characters; a longer one costs nothing to process.
            let boundary = String(repeating: "a", count: 8_000)
            let endless = await post(
                relay,
                [("X-Gotify-Key", token), ("Content-Type", "multipart/form-data; boundary=" + boundary)],
                String(repeating: "a", count: 16_000))
            #expect(endless.status == 400)
        }
    }

    @Test("Grafana's webhook rings with its title and message")
    func grafana() async throws {
        try await RelayFixture.withSender { relay, token in
            let body = #"""
                {"receiver":"relay","status":"firing","alerts":[{"status":"firing","labels":{"alertname":"HighLoad"}}],
                "groupLabels":{},"version":"1","title":"[FIRING:1] HighLoad","state":"alerting","message":"**Firing**\n\nLoad is 9"}
                """#
            #expect(await post(relay, [("Authorization", "Bearer \(token)")], body).status == 200)
            let alert = await relay.lastPayload["aps"]?["alert"]
            #expect(alert == ["title": "[FIRING:1] HighLoad", "body": "**Firing**\n\nLoad is 9"])
        }
    }

    @Test("Refusals have Gotify's form")
    func refusals() async throws {
        try await RelayFixture.withSender { relay, token in
            let unknown = await post(relay, [("X-Gotify-Key", "AbC")], #"{"message":"m"}"#)
            #expect(unknown.status == 401 && unknown.json["errorCode"] == 401)
            for body in ["{}", #"{"message":""}"#, "m", "[]"] {
                let answer = await post(relay, [("X-Gotify-Key", token)], body)
                #expect(answer.status == 400 && answer.json["errorDescription"]?.string != nil, "\(body)")
            }
        }
    }
}
