import JSON
import Storage
import Testing

@testable import Relay

@Suite("Arguments of schedule_notification and cancel_scheduled", .timeLimit(.minutes(1)))
struct ScheduleArgumentsTests {
    private func arguments(_ members: JSON.Value) throws -> ScheduleArguments {
        var object = JSON.Object()
        object["title"] = "T"
        object["message"] = "M"
        for member in members.object?.members ?? [] { object[member.name] = member.value }
        return try ScheduleArguments(object)
    }

    @Test("They become a request to /v1/schedule/create")
    func request() throws {
        let given: JSON.Value = ["in": 60, "name": "n", "urgency": "low"]
        #expect(
            .object(try arguments(given).request) == [
                "in": 60, "name": "n",
                "notification": ["title": "T", "body": "M", "interruptionLevel": "passive"],
            ] as JSON.Value)
    }

    @Test(
        "Without exactly one time, or with another argument, they are refused with a sentence",
        arguments: [
            [:], ["in": 60, "at": "2027-01-01T00:00:00Z"], ["at": "x", "every": [:]],
            ["in": 60, "eventID": "e"], ["in": 60, "title": ""], ["in": 60, "urgency": "now"],
        ] as [JSON.Value])
    func faults(_ members: JSON.Value) {
        let fault = #expect(throws: NotificationArguments.Fault.self) { try arguments(members) }
        #expect(fault?.sentence.hasSuffix(".") == true)
    }

    @Test("A schedule is cancelled by its ID or its name")
    func cancellation() throws {
        let id = "01970000-0000-7000-8000-000000000000"
        func reference(_ members: JSON.Value) throws -> ScheduleReference {
            try CancelArguments(members.object ?? JSON.Object()).reference
        }
        #expect(try reference(["id": .string(id)]) == .id(try #require(UUIDv7(id))))
        #expect(try reference(["name": "n"]) == .name("n"))
        let long = JSON.Value.string(String(repeating: "n", count: 129))
        for members: JSON.Value in [
            [:], ["id": .string(id), "name": "n"], ["id": "x"], ["id": 1], ["name": ""], ["name": long],
            ["title": "t"],
        ] {
            #expect(throws: NotificationArguments.Fault.self) { try reference(members) }
        }
    }
}
