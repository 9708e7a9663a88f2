import JSON
import Programs
import Storage
import Testing

@testable import Relay

@Suite("Recurrences as JSON", .timeLimit(.minutes(1)))
struct RecurrenceJSONTests {
    private let created = "2027-03-26 12:00"

    @Test(
        "A recurrence is written as it was read",
        arguments: [
            #"{"unit":"hour","interval":6}"#,
            #"{"unit":"day","interval":1,"at":["08:00","20:30"],"timeZone":"Europe/Berlin"}"#,
            #"{"unit":"week","interval":2,"at":["08:00"],"on":["mon","sun"],"timeZone":"device"}"#,
            #"{"unit":"month","interval":1,"at":["08:00"],"on":[1,15,-1],"timeZone":"UTC","until":"2027-12-31T22:59:59.000Z"}"#,
        ])
    func roundTrip(text: String) throws {
        let rule = try RecurrenceTests.recurrence(text, createdAt: created)
        #expect(String(decoding: JSON.Value.object(rule.object).encoded(), as: UTF8.self) == text)
        #expect(Recurrence(stored: rule.json) == rule)
        #expect(rule.usesDeviceZones == text.contains("device"))
    }

    @Test("Times and days are put in order")
    func order() throws {
        let rule = try RecurrenceTests.recurrence(
            #"{"unit":"month","at":["20:00","08:00"],"on":[-1,15,1],"timeZone":"UTC"}"#, createdAt: created)
        #expect(rule.times == [480, 1200])
        #expect(rule.monthDays == [1, 15, -1])
    }

    @Test(
        "What is wrong is refused with the field's name",
        arguments: [
            (#"{}"#, "missing_field every.unit"),
            (#"{"unit":"year"}"#, "invalid_field every.unit"),
            (#"{"unit":"hour","interval":0}"#, "invalid_field every.interval"),
            (#"{"unit":"hour","interval":1.5}"#, "invalid_field every.interval"),
            (#"{"unit":"month","interval":13}"#, "invalid_field every.interval"),
            (#"{"unit":"hour","at":["08:00"]}"#, "invalid_field every.at"),
            (#"{"unit":"hour","on":["mon"]}"#, "invalid_field every.on"),
            (#"{"unit":"hour","timeZone":"UTC"}"#, "invalid_field every.timeZone"),
            (#"{"unit":"day","timeZone":"UTC"}"#, "missing_field every.at"),
            (#"{"unit":"day","at":[],"timeZone":"UTC"}"#, "invalid_field every.at"),
            (#"{"unit":"day","at":["8:00"],"timeZone":"UTC"}"#, "invalid_field every.at"),
            (#"{"unit":"day","at":["24:00"],"timeZone":"UTC"}"#, "invalid_field every.at"),
            (#"{"unit":"day","at":["08:00","08:00"],"timeZone":"UTC"}"#, "invalid_field every.at"),
            (#"{"unit":"day","at":["08:00","08:14"],"timeZone":"UTC"}"#, "invalid_field every.at"),
            (#"{"unit":"day","at":["23:55","00:05"],"timeZone":"UTC"}"#, "invalid_field every.at"),
            (#"{"unit":"day","at":["08:00"]}"#, "missing_field every.timeZone"),
            (#"{"unit":"day","at":["08:00"],"timeZone":7}"#, "invalid_field every.timeZone"),
            (#"{"unit":"day","at":["08:00"],"on":["mon"],"timeZone":"UTC"}"#, "invalid_field every.on"),
            (#"{"unit":"week","at":["08:00"],"timeZone":"UTC"}"#, "missing_field every.on"),
            (#"{"unit":"week","at":["08:00"],"on":[],"timeZone":"UTC"}"#, "invalid_field every.on"),
            (#"{"unit":"week","at":["08:00"],"on":["Mon"],"timeZone":"UTC"}"#, "invalid_field every.on"),
            (
                #"{"unit":"week","at":["08:00"],"on":["mon","mon"],"timeZone":"UTC"}"#,
                "invalid_field every.on"
            ),
            (#"{"unit":"week","at":["08:00"],"on":[1],"timeZone":"UTC"}"#, "invalid_field every.on"),
            (#"{"unit":"month","at":["08:00"],"on":[0],"timeZone":"UTC"}"#, "invalid_field every.on"),
            (#"{"unit":"month","at":["08:00"],"on":[-2],"timeZone":"UTC"}"#, "invalid_field every.on"),
            (#"{"unit":"month","at":["08:00"],"on":["mon"],"timeZone":"UTC"}"#, "invalid_field every.on"),
            (#"{"unit":"hour","until":"2027-12-31"}"#, "invalid_field every.until"),
            (#"{"unit":"hour","until":"2027-12-31T00:00:00"}"#, "invalid_field every.until"),
        ])
    func refusals(text: String, expected: String) throws {
        let error = #expect(throws: APIError.self) {
            _ = try RecurrenceTests.recurrence(text, createdAt: created)
        }
        #expect("\(error?.code.rawValue ?? "") \(error?.field?.rawValue ?? "")" == expected)
    }

    @Test("A stored text that this program doesn't understand is no recurrence")
    func unreadable() {
        for text in ["", "{}", #"{"unit":"moon","start":0}"#, #"{"unit":"hour"}"#, "[1]"] {
            #expect(Recurrence(stored: text) == nil)
        }
    }

    @Test("The largest recurrence fits into its column")
    func size() throws {
        let times = (0..<24).map { #""\#($0 < 10 ? "0" : "")\#($0):00""# }.joined(separator: ",")
        let days = (Array(1...31) + [-1]).map { String($0) }.joined(separator: ",")
        let zone = String(repeating: "z", count: TimeZones.nameBytesMax)
        let rule = try RecurrenceTests.recurrence(
            #"{"unit":"month","interval":12,"at":[\#(times)],"on":[\#(days)],"timeZone":"\#(zone)","until":"9999-12-31T23:59:59Z"}"#,
            createdAt: created)
        #expect(rule.json.utf8.count <= 1_024)
    }

    @Test(
        "Times in RFC 3339 format are read with their offset",
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("1970-01-01T01:00:00.5+01:00", 500),
            ("1969-12-31t20:29:59.9999-03:30", -1), ("2028-02-29T00:00:00z", 1_835_395_200_000),
        ])
    func timestamps(text: String, milliseconds: Int64) {
        #expect(Timestamp.milliseconds(rfc3339: text) == milliseconds)
    }

    @Test(
        "Other texts are no times",
        arguments: [
            "", "2027-02-29T00:00:00Z", "2027-13-01T00:00:00Z", "2027-04-31T00:00:00Z",
            "2027-01-01T24:00:00Z",
            "2027-01-01T00:60:00Z", "2027-01-01T00:00:60Z", "2027-01-01T00:00:00", "2027-01-01 00:00:00Z",
            "2027-01-01T00:00:00.Z", "2027-01-01T00:00:00+0100", "2027-01-01T00:00:00Z ",
            "27-01-01T00:00:00Z",
            "2027-01-01T00:00:00+24:00", "1700000000",
            "9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00+01:00",
        ])
    func noTimestamps(text: String) {
        #expect(Timestamp.milliseconds(rfc3339: text) == nil)
    }
}
