import Foundation
import JSON
import OwnThread
import Testing

@testable import Relay

private let worstIdentifiers = [
    String(repeating: "\u{1}", count: 255), String(repeating: "\"", count: 255),
    String(repeating: "\u{0}\n", count: 127),
    String(repeating: "😀", count: 63) + "abc", String(repeating: "a", count: 255), "s",
]

private let worstTexts = [
    "", "short", String(repeating: "x", count: 16_000), String(repeating: "\u{1}", count: 5_000),
    String(repeating: "\"\\", count: 4_000), String(repeating: "😀", count: 4_000),
    String(repeating: "👩‍👩‍👧‍👦", count: 600),
    "a" + String(repeating: "\u{301}", count: 8_000), String(repeating: "e\u{301}\u{302}", count: 3_000),
    String(repeating: "🇩🇪", count: 2_000), String(repeating: "\r\n", count: 4_000),
    String(repeating: "é\u{0}", count: 3_000),
]

private func payload(
    title: String = "Fix auth bug", body: String = "Done.", sessionID: String = "ses_1",
    serverID: String? = "9f2c"
) -> EventPayload {
    EventPayload(title: title, body: body, eventType: .permission, sessionID: sessionID, serverID: serverID)
}

private func read(_ bytes: [UInt8]) throws -> JSON.Value { try JSON.parse(bytes, maxBytes: 4_096) }

private func alert(_ bytes: [UInt8]) throws -> (title: String, body: String) {
    let alert = try #require(try read(bytes)["aps"]?["alert"])
    return (try #require(alert["title"]?.string), try #require(alert["body"]?.string))
}

/// Whether a text was shortened correctly: the original up to the end of a character, and an ellipsis.
private func isShortened(_ text: String, from original: String) -> Bool {
    guard text.hasSuffix("…"), text != original else { return false }
    let kept = Array(text.unicodeScalars.dropLast())
    var start = original.startIndex
    var scalars = 0
    while scalars < kept.count, start < original.endIndex {
        scalars += original[start].unicodeScalars.count
        start = original.index(after: start)
    }
    return scalars == kept.count && original.unicodeScalars.starts(with: kept)
}

@Suite("The payload of an alert", .timeLimit(.minutes(2)), .ownThread)
struct EventPayloadTests {
    @Test("it holds the app's facts three times and the texts once, in the documented order")
    func shape() {
        let bytes = payload().encoded(PushStyle(sound: "default"))
        let facts = #""serverID":"9f2c","eventType":"permission","sessionID":"ses_1""#
        let expected =
            #"{"aps":{"alert":{"title":"Fix auth bug","body":"Done."},"sound":"default","thread-id":"ses_1"},"#
            + facts + #","data":{"# + facts + #"},"body":{"# + facts + "}}"
        #expect(String(decoding: bytes, as: UTF8.self) == expected)
    }

    @Test("a server that isn't named and a sound that isn't wanted are left out")
    func absent() {
        let bytes = payload(serverID: nil).encoded(PushStyle())
        let facts = #""eventType":"permission","sessionID":"ses_1""#
        let expected =
            #"{"aps":{"alert":{"title":"Fix auth bug","body":"Done."},"thread-id":"ses_1"},"#
            + facts + #","data":{"# + facts + #"},"body":{"# + facts + "}}"
        #expect(String(decoding: bytes, as: UTF8.self) == expected)
    }

    @Test("texts and identifiers reach the device byte for byte")
    func exactTexts() throws {
        let odd = "\u{0}\"\\/\u{1F}\u{7F}\u{2028}e\u{301}é😀👩‍👧"
        let bytes = payload(title: odd, body: odd + odd, sessionID: odd, serverID: odd).encoded(
            PushStyle(sound: odd))
        let value = try read(bytes)
        #expect(try Array(alert(bytes).title.utf8) == Array(odd.utf8))
        #expect(try Array(alert(bytes).body.utf8) == Array((odd + odd).utf8))
        let facts: JSON.Value = [
            "serverID": .string(odd), "eventType": "permission", "sessionID": .string(odd),
        ]
        #expect(value["data"] == facts)
        #expect(value["body"] == facts)
        #expect(value["serverID"] == facts["serverID"])
        #expect(value["sessionID"] == facts["sessionID"])
        #expect(value["aps"]?["thread-id"] == .string(odd))
        #expect(value["aps"]?["sound"] == .string(odd))
    }

    @Test("a body that fits exactly stays whole, and one byte more shortens it")
    func boundary() throws {
        let frame = payload(body: "").encoded(PushStyle(sound: "default")).count
        let exact = String(repeating: "x", count: 4_096 - frame)
        #expect(payload(body: exact).encoded(PushStyle(sound: "default")).count == 4_096)
        #expect(try alert(payload(body: exact).encoded(PushStyle(sound: "default"))).body == exact)
        let bytes = payload(body: exact + "x").encoded(PushStyle(sound: "default"))
        #expect(bytes.count == 4_096)
        #expect(try alert(bytes).body == exact.dropLast(3) + "…")
        #expect(try alert(bytes).title == "Fix auth bug")
    }

    @Test("the body gives way before the title")
    func bodyFirst() throws {
        let long = String(repeating: "Título ", count: 1_000)
        let bodyOnly = try alert(payload(title: "Título", body: long).encoded(PushStyle(sound: "default")))
        #expect(bodyOnly.title == "Título")
        #expect(isShortened(bodyOnly.body, from: long))
        let both = try alert(payload(title: long, body: long).encoded(PushStyle(sound: "default")))
        #expect(both.body == "…")
        #expect(isShortened(both.title, from: long))
        #expect(both.title.utf8.count > 3_500)
        let titleOnly = try alert(payload(title: long, body: "Hi").encoded(PushStyle(sound: "default")))
        #expect(titleOnly.body == "Hi")
        #expect(isShortened(titleOnly.title, from: long))
    }

    @Test(
        "whatever the texts and identifiers are, it fits, is valid, and loses no identifier",
        arguments: worstTexts)
    func worstCases(text: String) throws {
        for other in worstTexts[..<5] {
            for sessionID in worstIdentifiers {
                for serverID in [worstIdentifiers[0], worstIdentifiers[3], nil] {
                    let payload = payload(title: text, body: other, sessionID: sessionID, serverID: serverID)
                    let bytes = payload.encoded(
                        PushStyle(sound: String(repeating: "s", count: Bounds.identifierBytesMax)))
                    #expect(bytes.count <= 4_096)
                    let value = try read(bytes)
                    let (title, body) = try alert(bytes)
                    let isTitleRight = title == text || isShortened(title, from: text)
                    let isBodyRight = body == other || isShortened(body, from: other)
                    #expect(isTitleRight && isBodyRight, "\(title.utf8.count) \(body.utf8.count)")
                    #expect(title == text || body == "…" || (body == other && body.utf8.count <= 3))
                    #expect(value["body"]?["sessionID"] == .string(sessionID))
                    #expect(value["body"]?["serverID"] == serverID.map(JSON.Value.string))
                    #expect(value["body"]?["eventType"] == "permission")
                }
            }
        }
    }

    @Test("all copies stay unless control characters blow the identifiers up")
    func copies() throws {
        let long = String(repeating: "x", count: 16_000)
        func keys(_ sessionID: String, _ serverID: String?) throws -> [String] {
            let value = try read(
                payload(body: long, sessionID: sessionID, serverID: serverID).encoded(
                    PushStyle(sound: "default")))
            let thread = value["aps"]?["thread-id"] == nil ? [] : ["thread-id"]
            return (value.object?.members.map(\.name) ?? []) + thread
        }
        let quotes = String(repeating: "\"", count: 255)
        let controls = String(repeating: "\u{1}", count: 255)
        let all = ["aps", "serverID", "eventType", "sessionID", "data", "body", "thread-id"]
        #expect(try keys(quotes, quotes) == all)
        #expect(try keys(String(repeating: "😀", count: 63), quotes) == all)
        #expect(try keys(controls, nil) == ["aps", "eventType", "sessionID", "body"])
        #expect(try keys(controls, controls) == ["aps", "body"])
        #expect(
            try keys(String(controls.prefix(160)), nil) == [
                "aps", "eventType", "sessionID", "body", "thread-id",
            ])
    }

    @Test("the whole room is used, whichever copies stay", arguments: [1, 100, 150, 160, 200, 255])
    func fullUse(controls: Int) {
        for serverID in [nil, "s", String(repeating: "\u{1}", count: controls)] {
            let sessionID = String(repeating: "\u{2}", count: controls)
            let body = String(repeating: "x", count: 5_000)
            #expect(
                payload(body: body, sessionID: sessionID, serverID: serverID).encoded(PushStyle()).count
                    == 4_096)
        }
    }

    @Test("a character that is too long for the whole payload leaves an ellipsis")
    func giantCharacter() throws {
        let giant = "a" + String(repeating: "\u{301}", count: 4_000)
        #expect(giant.count == 1)
        #expect(try alert(payload(body: giant).encoded(PushStyle())).body == "…")
    }

    @Test("Foundation reads the same")
    func foundation() throws {
        let body = String(repeating: "👩‍👩‍👧‍👦 \u{1}\"", count: 400)
        let bytes = payload(body: body).encoded(PushStyle(sound: "default"))
        let object = try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
        let alert = (object?["aps"] as? [String: Any])?["alert"] as? [String: String]
        #expect(isShortened(try #require(alert?["body"]), from: body))
    }
}

@Suite("Shortening", .timeLimit(.minutes(2)), .ownThread)
struct ShorteningTests {
    @Test("a text is cut between characters, never inside one")
    func boundaries() {
        #expect("hello".shortened(toEscaped: 5) == "hello")
        #expect("hello!".shortened(toEscaped: 5) == "he…")
        #expect("👩‍👩‍👧‍👦👩‍👩‍👧‍👦".shortened(toEscaped: 49) == "👩‍👩‍👧‍👦…")
        #expect("👩‍👩‍👧‍👦👩‍👩‍👧‍👦".shortened(toEscaped: 27) == "…")
        #expect("e\u{301}e\u{301}e\u{301}".shortened(toEscaped: 8) == "e\u{301}…")
        #expect("🇩🇪🇫🇷🇮🇹".shortened(toEscaped: 19) == "🇩🇪🇫🇷…")
        #expect("🇩🇪🇫🇷🇮🇹".shortened(toEscaped: 18) == "🇩🇪…")
        #expect("\r\n\r\n\r\n".shortened(toEscaped: 11) == "\r\n\r\n…")
        #expect("\u{1}\u{1}\u{1}".shortened(toEscaped: 17) == "\u{1}\u{1}…")
    }

    @Test("nothing but the ellipsis is left where there is no room", arguments: [-10, 0, 2, 3])
    func noRoom(count: Int) {
        #expect("hello".shortened(toEscaped: count) == "…")
        #expect("".shortened(toEscaped: count) == "")
        #expect("abc".shortened(toEscaped: count) == "abc")
    }
}
