import HTTPServer
import JSON
import Programs
import Testing

@testable import Relay

@Suite("Requests with a common mistake", .timeLimit(.minutes(2)))
struct RequestMistakeTests {
    @Test("A byte order mark before the JSON is skipped")
    func byteOrderMark() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let body = #"{"secret":"\#(RelayFixture.secret)","eventType":"error","sessionID":"s"}"#
            let marked = await relay.answer(
                Request(method: .post, target: "/v1/event", body: [0xEF, 0xBB, 0xBF] + Array(body.utf8)))
            #expect(marked.status == 200 && marked.json["sent"] == 1)
            let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
            for other in [mark, mark + mark + Array("{}".utf8)] {
                let refused = await relay.answer(
                    Request(method: .post, target: "/v1/event", body: other))
                #expect(refused.json["code"] == "invalid_body")
            }
        }
    }

    @Test("A compressed body is refused with the name of its coding, and one in UTF-16 by its own sentence")
    func encodings() async throws {
        try await RelayFixture.with { relay in
            func post(_ path: String, _ body: [UInt8], _ coding: String?) async -> Response {
                var headers = [(name: "Authorization", value: "Bearer \(RelayFixture.secret)")]
                if let coding { headers.append(("Content-Encoding", coding)) }
                return await relay.answer(
                    Request(method: .post, target: path, headers: headers, body: body))
            }
            let zipped: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0xAB]
            for coding in ["gzip", "br", "deflate, gzip"] {
                let refused = await post("/v1/event", zipped, coding)
                #expect(refused.status == 415 && refused.json["code"] == "unsupported_encoding")
                #expect(refused.json["error"]?.string?.contains(coding) == true)
            }
            let strange = await post("/v1/event", zipped, "<script>")
            #expect(strange.status == 415 && strange.json["error"]?.string?.contains("script") == false)
            for coding in [nil, "identity"] {
                #expect(await post("/v1/event", zipped, coding).json["code"] == "invalid_body")
            }
            let mcp = await post("/mcp", zipped, "gzip")
            #expect(mcp.status == 415)
            #expect(mcp.json["error"]?["message"]?.string?.contains("gzip") == true)
            let text: [UInt8] = Array(#"{"eventType":"error"}"#.utf8)
            let little: [UInt8] = text.flatMap { [$0, 0] }
            let big: [UInt8] = text.flatMap { [0, $0] }
            let marks: [[UInt8]] = [[0xFF, 0xFE], [0xFE, 0xFF]]
            for body in [little, big, marks[0] + little, marks[1] + big] {
                let refused = await post("/v1/event", body, nil)
                #expect(refused.json["code"] == "invalid_body")
                #expect(refused.json["error"]?.string?.contains("UTF-16") == true)
            }
        }
    }

    @Test(
        "A form, or JSON in the quotes of a shell, is refused with a sentence of its own",
        arguments: [("secret=abc&title=Done", "form"), ("'{\"secret\":\"abc\"}'", "single quote")])
    func notJSON(text: String, mistake: String) async throws {
        try await RelayFixture.with { relay in
            let refused = await relay.answer(
                Request(method: .post, target: "/v1/event", body: Array(text.utf8)))
            #expect(refused.json["code"] == "invalid_body")
            #expect(refused.json["error"]?.string?.contains(mistake) == true)
        }
    }

    @Test(
        "A device token in another form is refused with the name of the mistake",
        arguments: [
            ("ExponentPushToken[xxxxxxxxxxxxxxxxxxxxxx]", "Expo"), ("ExpoPushToken[abc]", "Expo"),
            ("cXyZ0-ab_c:APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx", "Firebase"),
            ("<740f4707 bebcf74f 9b7c25d4 8e335894 5f6aa01d a5ddb387 462c7eaf 61bb78ad>", "of Data"),
            ("{length = 32, bytes = 0x740f4707 bebcf74f 9b7c25d4 8e335894 ... 61bb78ad }", "of Data"),
            ("{length=32,bytes=0x740f4707}", "of Data"), ("32 bytes", "of Data"),
            ("dA9HB76890+bfCXUjjNYlF9qoB2l3bOHRix+r2G7eK0=", "base64"),
            ("dA9HB76890-bfCXUjjNYlF9qoB2l3bOHRix_r2G7eK0", "base64"),
            ("0x740f4707bebcf74f", "0x"), ("740f4707-bebc-f74f-9b7c-25d48e335894", "UUID"),
        ])
    func wrongTokens(token: String, mistake: String) async throws {
        try await RelayFixture.with { relay in
            let body: JSON.Value = ["secret": .string(RelayFixture.secret), "deviceToken": .string(token)]
            for path in ["/v1/device/register", "/v1/device/unregister"] {
                let refused = await relay.post(path, body)
                #expect(refused.json["code"] == "invalid_field" && refused.json["field"] == "deviceToken")
                let sentence = refused.json["error"]?.string ?? ""
                #expect(sentence.contains(mistake), "\(sentence)")
                #expect(!sentence.contains(token))
            }
        }
    }

    @Test("An unknown path's answer names the relay's version")
    func versionOfUnknownPath() async throws {
        try await RelayFixture.with { relay in
            let unknown = await relay.post("/v2/event", [:])
            #expect(unknown.status == 404 && unknown.json["code"] == "not_found")
            #expect(unknown.json["error"]?.string?.contains(Version.current) == true)
        }
    }
}
