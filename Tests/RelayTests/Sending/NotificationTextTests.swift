import APNs
import HTTPServer
import JSON
import Storage
import Testing

@testable import Relay

@Suite("Texts of notifications", .timeLimit(.minutes(2)))
struct NotificationTextTests {
    private static func long(_ character: Character, _ count: Int = 3000) -> JSON.Value {
        .string(String(repeating: character, count: count))
    }

    private static func content(_ notification: JSON.Value) throws -> NotificationContent {
        try NotificationContent(
            RequestFields(notification.object ?? JSON.Object(), within: .notification))
    }

    private static func alert(_ payload: [UInt8]) throws -> JSON.Value {
        #expect(payload.count <= Notification.payloadBytesMax)
        let value = try JSON.parse(payload, maxBytes: Notification.payloadBytesMax)
        return try #require(value["aps"]?["alert"])
    }

    @Test("The body is shortened first, then the subtitle, then the title, for every style of device")
    func order() throws {
        for style in [
            PushStyle(), PushStyle(isQuiet: true), PushStyle(unreadBadge: 1000),
            PushStyle(isQuiet: true, unreadBadge: 1000),
        ] {
            let body = try Self.content([
                "title": "T", "subtitle": "S", "body": Self.long("é"), "sound": "default",
            ])
            var alert = try Self.alert(body.payload(style))
            #expect(alert["title"] == "T" && alert["subtitle"] == "S")
            let text = try #require(alert["body"]?.string)
            #expect(text.hasSuffix("é…") && text.utf8.count > 3800)
            let all = try Self.content([
                "title": Self.long("t", 5000), "subtitle": Self.long("s"), "body": Self.long("b"),
            ])
            alert = try Self.alert(all.payload(style))
            #expect(alert["body"] == "…" && alert["subtitle"] == "…")
            #expect(alert["title"]?.string?.hasSuffix("t…") == true)
            let two = try Self.content(["title": Self.long("t"), "body": Self.long("b")])
            alert = try Self.alert(two.payload(style))
            #expect(alert["title"] == Self.long("t") && alert["subtitle"] == nil)
            #expect(alert["body"]?.string?.hasSuffix("b…") == true)
        }
    }

    @Test("Texts that were shortened differ in their digests and are whole in the history")
    func whole() throws {
        let one = try Self.content(["body": .string(String(repeating: "a", count: 5000) + "1")])
        let other = try Self.content(["body": .string(String(repeating: "a", count: 5000) + "2")])
        #expect(one.payload(PushStyle()) == other.payload(PushStyle()))
        #expect(one.digest(to: nil, repetition: nil) != other.digest(to: nil, repetition: nil))
        #expect(one.history?.body?.utf8.count == 5001)
    }

    @Test("Data that leaves no room for texts is refused")
    func data() throws {
        #expect(throws: APIError.self) {
            try Self.content(["title": "t", "data": ["x": Self.long("x", 4090)]])
        }
    }

    @Test("Empty texts count as absent, also in background pushes and reloads")
    func empty() throws {
        let content = try Self.content(["title": "t", "subtitle": "", "body": ""])
        #expect(try Self.alert(content.payload(PushStyle())) == ["title": "t"])
        for type in ["background", "widgets"] as [JSON.Value] {
            _ = try Self.content(["pushType": type, "title": "", "subtitle": "", "body": ""])
        }
    }

    private static func request(_ members: JSON.Value) throws(APIError) -> NotifyRequest {
        var object = members.object ?? JSON.Object()
        object["secret"] = .string(RelayFixture.secret)
        return try NotifyRequest(body: JSON.Value.object(object).encoded())
    }

    @Test("Texts can be next to the notification or without one, but each only once")
    func flat() throws {
        let nested = try Self.request(["notification": ["title": "T", "subtitle": "S", "body": "B"]])
        for members: JSON.Value in [
            ["title": "T", "subtitle": "S", "body": "B"],
            ["title": "T", "notification": ["subtitle": "S", "body": "B", "title": ""]],
            ["title": "T", "body": "", "subtitle": "S", "notification": ["body": "B"]],
        ] {
            let digest = try Self.request(members).content.digest(to: nil, repetition: nil)
            #expect(digest == nested.content.digest(to: nil, repetition: nil), "\(members)")
        }
        for field in [RequestField.title, .subtitle, .body] {
            let error = #expect(throws: APIError.self) {
                try Self.request([
                    "title": "a", "subtitle": "b", "body": "c",
                    "notification": .object(.init(name: field.rawValue, "x")),
                ])
            }
            #expect(error?.code == .invalidField && error?.field == field)
        }
        let wrong = #expect(throws: APIError.self) { try Self.request(["title": 1]) }
        #expect(wrong == APIError(.invalidField, field: .title))
        let none = #expect(throws: APIError.self) { try Self.request(["title": ""]) }
        #expect(none?.code == .missingField && none?.field == .notification)
    }
}

extension JSON.Object {
    fileprivate init(name: String, _ value: JSON.Value) {
        self.init()
        self[name] = value
    }
}
