import APNs
import HTTP2Testing
import HTTPServer
import JSON
import Storage
import Testing

@testable import Relay

/// Texts cut in the middle of an emoji by a sender that counts UTF-16 units, as OpenCode's server does at 140 units.
@Suite("Texts cut within an emoji", .timeLimit(.minutes(2)))
struct CutTextTests {
    private let rules = RequestRules(defaultBundleID: Topic("org.example.default"))

    /// A request body in which a string's JSON text replaces `CUT`.
    private func body(_ template: String, _ text: String) -> [UInt8] {
        Array(template.replacing("CUT", with: text).utf8)
    }

    @Test("A body cut at any UTF-16 unit reaches the phone, half an emoji as U+FFFD")
    func everyUnit() async throws {
        let bodies = try await nodeBodies()
        try #require(bodies.count > 150)
        #expect(bodies.contains { $0.text.unicodeScalars.contains("\u{FFFD}") })
        try await RelayFixture.with { relay in
            relay.storage.add("00aa", under: RelayFixture.key, bundle: "org.example.a")
            for body in bodies {
                let answer = await relay.answer(
                    Request(method: .post, target: "/v1/event", body: body.request))
                #expect(answer.json["sent"] == 1, "\(String(decoding: body.request, as: UTF8.self))")
            }
            let payloads = await relay.onLoop { $0.production.pushes.map(\.notification.payload) }
            let arrived = try payloads.map {
                try JSON.parse($0, maxBytes: 4096)["aps"]?["alert"]?["body"]?.string
            }
            #expect(arrived == bodies.map(\.text))
        }
    }

    /// What OpenCode's server would send: its JavaScript engine cuts, writes the JSON and says what UTF-8 the text is.
    private func nodeBodies() async throws -> [(request: [UInt8], text: String)] {
        let script = """
            const texts = ["Fertig 🎉🎉, alle Tests laufen", "已经完成🚀令牌检查现在先于缓存👩‍👧查找", "\\u{10FFFF}a\\uD83C\\uD83C\\uDF89"];
            for (const text of texts) for (let end = 0; end <= text.length; end += 1) {
                for (const begin of [0, Math.min(end, 8), Math.min(end, 9)]) {
                    const body = text.slice(begin, end) + "…";
                    console.log(JSON.stringify({
                        secret: "\(RelayFixture.secret)", eventType: "complete", sessionID: "ses_1", body }));
                    console.log(Buffer.from(body, "utf8").toString("hex"));
                }
            }
            """
        let (output, status) = try await ExternalProgram.node.run(["-e", script])
        try #require(status == 0, "\(output)")
        let lines = output.split(separator: "\n")
        return stride(from: 0, to: lines.count - 1, by: 2).map { index in
            let digits = Array(lines[index + 1].utf8)
            let bytes = stride(from: 0, to: digits.count, by: 2).compactMap {
                UInt8(String(decoding: digits[$0..<($0 + 2)], as: UTF8.self), radix: 16)
            }
            return (Array(lines[index].utf8), String(decoding: bytes, as: UTF8.self))
        }
    }

    @Test("Every text of a notification, its data included, is read so")
    func notifications() throws {
        let request = try NotifyRequest(
            body: body(
                #"""
                {"secret":"0123456789abcdef","notification":{"title":"CUT","subtitle":"a CUT","body":"CUT b",
                "data":{"x":"CUT","y":["CUT",{"z":"\ud83c\udf89"}]}}}
                """#, #"\ud83c"#))
        let payload = try JSON.parse(request.content.payload(PushStyle()), maxBytes: 4096)
        let alert: JSON.Value = ["title": "\u{FFFD}", "subtitle": "a \u{FFFD}", "body": "\u{FFFD} b"]
        #expect(payload["aps"]?["alert"] == alert)
        #expect(payload["x"] == "\u{FFFD}")
        #expect(payload["y"] == ["\u{FFFD}", ["z": "🎉"]])
    }

    @Test("So is what a device says of itself")
    func details() throws {
        let request = try RegisterRequest(
            body: body(
                #"{"secret":"0123456789abcdef","deviceToken":"00aa","deviceName":"Ada CUT","appVersion":"CUT"}"#,
                #"\udf89"#), rules: rules)
        #expect(request.details.deviceName == "Ada \u{FFFD}")
        #expect(request.details.appVersion == "\u{FFFD}")
    }

    @Test("Two events whose texts were cut to the same have the same content")
    func contents() throws {
        func content(_ text: String) throws -> Digest256 {
            let template =
                #"{"secret":"0123456789abcdef","eventType":"error","sessionID":"s","body":"CUT"}"#
            return try EventRequest(body: body(template, text)).content.digest(to: nil, repetition: nil)
        }
        #expect(try content(#"\ud83c"#) == content("\u{FFFD}"))
        #expect(try content(#"\ud83c\ud83c"#) != content(#"\ud83c"#))
    }

    static let strict: [(field: RequestField, template: String)] = [
        (.secret, #"{"secret":"0123456789abcdef CUT","eventType":"error","sessionID":"s"}"#),
        (.eventType, #"{"secret":"0123456789abcdef","eventType":"CUT","sessionID":"s"}"#),
        (.sessionID, #"{"secret":"0123456789abcdef","eventType":"error","sessionID":"CUT"}"#),
        (.serverID, #"{"secret":"0123456789abcdef","eventType":"error","sessionID":"s","serverID":"CUT"}"#),
        (.eventID, #"{"secret":"0123456789abcdef","eventType":"error","sessionID":"s","eventID":"CUT"}"#),
        (.secret, #"{"secret":"0123456789abcdef CUT","deviceToken":"00aa"}"#),
        (.deviceToken, #"{"secret":"0123456789abcdef","deviceToken":"00CUT"}"#),
        (.bundleID, #"{"secret":"0123456789abcdef","deviceToken":"00aa","bundleId":"CUT"}"#),
        (.apnsEnvironment, #"{"secret":"0123456789abcdef","deviceToken":"00aa","apnsEnv":"CUT"}"#),
        (
            .quietHoursTimeZone,
            #"{"secret":"0123456789abcdef","deviceToken":"00aa","preferences":{"quietHours":{"from":"22:00","to":"07:00","timeZone":"CUT"}}}"#
        ),
        (
            .preferencesEventTypes,
            #"{"secret":"0123456789abcdef","deviceToken":"00aa","preferences":{"eventTypes":["CUT"]}}"#
        ),
        (.deviceToken, #"{"secret":"0123456789abcdef","deviceToken":"CUT","notification":{"title":"t"}}"#),
        (.notificationSound, #"{"secret":"0123456789abcdef","notification":{"title":"t","sound":"CUT"}}"#),
        (
            .notificationSound,
            #"{"secret":"0123456789abcdef","notification":{"title":"t","sound":{"name":"CUT"}}}"#
        ),
        (
            .notificationThreadID,
            #"{"secret":"0123456789abcdef","notification":{"title":"t","threadID":"CUT"}}"#
        ),
        (
            .notificationCategory,
            #"{"secret":"0123456789abcdef","notification":{"title":"t","category":"CUT"}}"#
        ),
        (
            .notificationCollapseID,
            #"{"secret":"0123456789abcdef","notification":{"title":"t","collapseID":"CUT"}}"#
        ),
        (.category, #"{"secret":"0123456789abcdef","eventType":"error","sessionID":"s","category":"CUT"}"#),
        (.sealed, #"{"secret":"0123456789abcdef","eventType":"error","sessionID":"s","sealed":"AQCUT"}"#),
        (.notificationKind, #"{"secret":"0123456789abcdef","notification":{"title":"t","kind":"CUT"}}"#),
    ]

    @Test("Secrets, tokens, identifiers and words must be whole", arguments: strict)
    func strictFields(field: RequestField, template: String) throws {
        #expect(!field.isProse)
        let error = try #require(throws: APIError.self) {
            let body = body(template, #"\ud83c"#)
            if template.contains("notification") {
                _ = try NotifyRequest(body: body)
            } else if template.contains("deviceToken") {
                _ = try RegisterRequest(body: body, rules: rules)
            } else {
                _ = try EventRequest(body: body)
            }
        }
        #expect(error.code == .invalidField)
        #expect(error.field == field)
    }

    @Test("A refusal names the fault and nothing of the secret")
    func sentence() throws {
        let error = try #require(throws: APIError.self) {
            try EventRequest(
                body: body(Self.strict[0].template, #"\ud83c"#))
        }
        #expect(error.sentence == "A field is not valid. secret contains half of a surrogate pair.")
    }

    @Test("A member that the relay doesn't know may have any text; a name may not")
    func unknownMembers() throws {
        let known = #""secret":"0123456789abcdef","eventType":"error","sessionID":"s""#
        _ = try EventRequest(body: body("{\(known),\"x\":[\"CUT\"]}", #"\ud83c"#))
        for template in ["{\(known),\"CUT\":1}", "{\(known),\"x\":{\"CUT\":1}}"] {
            let error = try #require(throws: APIError.self) {
                try EventRequest(body: body(template, #"\ud83c"#))
            }
            #expect(error.code == .invalidBody)
        }
    }
}
