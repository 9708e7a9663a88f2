import JSON
import Testing

@testable import Relay

@Suite("Arguments of send_notification", .timeLimit(.minutes(1)))
struct NotificationArgumentsTests {
    private func arguments(_ members: JSON.Value) throws -> NotificationArguments {
        var object = JSON.Object()
        object["title"] = "T"
        object["message"] = "M"
        for member in members.object?.members ?? [] { object[member.name] = member.value }
        return try NotificationArguments(object)
    }

    @Test("Urgency decides sound and interruption")
    func urgency() throws {
        func parts(_ members: JSON.Value) throws -> [JSON.Value?] {
            let notification = try arguments(members).notification
            return [notification["sound"], notification["interruptionLevel"]]
        }
        #expect(try parts([:]) == ["default", nil])
        #expect(try parts(["urgency": "normal"]) == ["default", nil])
        #expect(try parts(["urgency": "low"]) == [nil, "passive"])
        #expect(try parts(["urgency": "high"]) == ["default", "time-sensitive"])
    }

    @Test("A session is where an app finds an event's")
    func session() throws {
        let notification = try arguments(["sessionID": "ses_1"]).notification
        #expect(notification["threadID"] == "ses_1")
        let session: JSON.Value = ["sessionID": "ses_1"]
        #expect(notification["data"] == ["sessionID": "ses_1", "data": session, "body": session])
        #expect(try arguments([:]).notification["data"] == nil)
    }

    @Test(
        "Each fault is a sentence that names the argument",
        arguments: [
            ("title", ""), ("title", 1), ("title", nil), ("message", ""), ("message", nil), ("message", []),
            ("urgency", "urgent"), ("urgency", 1), ("urgency", nil), ("sessionID", ""), ("sessionID", 1),
            ("sessionID", .string(String(repeating: "s", count: 256))), ("sessionID", "a\0"),
            ("eventID", ""), ("eventID", .string(String(repeating: "e", count: 129))),
        ] as [(String, JSON.Value)])
    func faults(_ name: String, _ value: JSON.Value) throws {
        var object = JSON.Object()
        object[name] = value
        let fault = #expect(throws: NotificationArguments.Fault.self) { try arguments(.object(object)) }
        #expect(fault?.sentence.hasPrefix(name) == true && fault?.sentence.hasSuffix(".") == true)
    }

    @Test("An unknown argument is refused with the known ones")
    func unknown() throws {
        let fault = #expect(throws: NotificationArguments.Fault.self) { try arguments(["body": "x"]) }
        #expect(fault?.sentence.contains("title, message, urgency, sessionID, eventID") == true)
        let properties = NotificationArguments.schema["properties"]?.object?.members.map(\.name)
        #expect(properties == ["title", "message", "urgency", "sessionID", "eventID"])
    }

    @Test("Half of an emoji in a text is replaced")
    func surrogates() throws {
        let given = try JSON.parse(
            Array(#"{"title":"a\ud83c","message":"b"}"#.utf8), maxBytes: 100, loneSurrogates: .replaced)
        #expect(try NotificationArguments(#require(given.object)).title == "a\u{FFFD}")
    }
}
