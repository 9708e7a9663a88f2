import APNs
import HTTPServer
import JSON
import Network
import Testing

@testable import Relay

@Suite("Bark's pushes", .timeLimit(.minutes(2)))
struct BarkTests {
    @Test("JSON to /push rings, and the answer is Bark's")
    func json() async throws {
        try await RelayFixture.withSender { relay, token in
            let body = #"""
                {"device_key":"\#(token)","title":"T","subtitle":"S","body":"B","level":"timeSensitive","badge":2,
                "sound":"minuet","group":"g","id":"c","url":"https://example.org"}
                """#
            let answer = await relay.answer(
                Request(method: .post, target: "/push", body: Array(body.utf8)))
            #expect(answer.json == ["code": 200, "message": "success", "timestamp": 1_800_000_000])
            let payload = await relay.lastPayload
            #expect(
                payload["aps"] == [
                    "alert": ["title": "T", "subtitle": "S", "body": "B"], "badge": 2, "sound": "minuet.caf",
                    "thread-id": "g", "interruption-level": "time-sensitive",
                ])
            #expect(payload["kind"] == "bark" && payload["url"] == "https://example.org")
        }
    }

    @Test("The texts can be in the path, in its query or in a form, and no log line has the key")
    func paths() async throws {
        try await RelayFixture.withSender { relay, token in
            let form = [(name: "Content-Type", value: "application/x-www-form-urlencoded")]
            let requests: [(Request, JSON.Value)] = [
                (Request(target: "/\(token)/a%20b%2Fc"), ["body": "a b/c"]),
                (Request(target: "/\(token)/t/b?level=passive"), ["title": "t", "body": "b"]),
                (Request(target: "/\(token)/t/s/b"), ["title": "t", "subtitle": "s", "body": "b"]),
                (Request(target: "/\(token)?title=t&body=b+c"), ["title": "t", "body": "b c"]),
                (Request(target: "/\(token)/"), ["body": "Empty Message"]),
                (
                    Request(
                        method: .post, target: "/\(token)", headers: form, body: Array("title=t&body=b".utf8)),
                    ["title": "t", "body": "b"]
                ),
                (
                    Request(method: .post, target: "/\(token)", body: Array(#"{"body":"b"}"#.utf8)),
                    ["body": "b"]
                ),
                (
                    Request(
                        method: .post, target: "/push", headers: form,
                        body: Array("device_key=\(token)&body=b".utf8)), ["body": "b"]
                ),
            ]
            for (request, alert) in requests {
                #expect(await relay.answer(request).status == 200, "\(request.method)")
                #expect(await relay.lastPayload["aps"]?["alert"] == alert)
            }
            _ = try await relay.lines.closed()
            #expect(!relay.lines.text.contains(token))
        }
    }

    @Test("What only Bark's app can do is refused in Bark's form")
    func refusals() async throws {
        try await RelayFixture.withSender { relay, token in
            for body in [
                #"{"device_key":"\#(token)","ciphertext":"AA"}"#,
                #"{"device_keys":["\#(token)","b"],"body":"b"}"#,
                "x",
            ] {
                let answer = await relay.answer(
                    Request(method: .post, target: "/push", body: Array(body.utf8)))
                #expect(answer.status == 400 && answer.json["code"] == 400)
            }
            let unknown = await relay.answer(Request(target: "/\(AccessTokenText.make())/b"))
            #expect(unknown.status == 401 && unknown.json["code"] == 401)
        }
    }
}
