import ChildProcess
import Foundation
import JSON
import Programs
import Storage
import Testing

@testable import Relay

@Suite("Recurrences", .timeLimit(.minutes(2)))
struct RecurrenceTests {
    private static let zones = TimeZones()

    /// A recurrence from a request's JSON, created at a time.
    static func recurrence(_ json: String, createdAt start: String) throws -> Recurrence {
        let object = try #require(try JSON.parse(Array(json.utf8), maxBytes: 4096).object)
        return try Recurrence(RequestFields(object, within: .every), start: try utc(start))
    }

    /// Milliseconds of a time in RFC 3339 format, or of `2027-03-28 08:00` in UTC.
    static func utc(_ text: String) throws -> EpochMilliseconds {
        let full = text.count == 16 ? "\(text.prefix(10))T\(text.suffix(5)):00Z" : text
        return try #require(Timestamp.milliseconds(rfc3339: full))
    }

    /// The first occurrences in UTC, as `2027-03-28 08:00`.
    static func first(
        _ count: Int, of recurrence: Recurrence, zones names: [String] = [], in system: TimeZones = zones
    ) -> [String] {
        var found: [String] = []
        var time = recurrence.start
        while found.count < count, case .at(let next) = recurrence.next(after: time, zones: names, system) {
            time = next
            found.append(String(Timestamp(next).toTheSecond.prefix(16)))
        }
        return found
    }

    private func first(_ count: Int, _ json: String, createdAt start: String) throws -> [String] {
        Self.first(count, of: try Self.recurrence(json, createdAt: start))
    }

    private func daily(_ time: String, _ zone: String) -> String {
        #"{"unit":"day","at":["\#(time)"],"timeZone":"\#(zone)"}"#
    }

    // MARK: Changes of the clocks

    @Test("08:00 in Berlin stays 08:00 when the clocks change, in both directions")
    func berlin() throws {
        #expect(
            try first(3, daily("08:00", "Europe/Berlin"), createdAt: "2027-03-26 12:00")
                == ["2027-03-27 07:00", "2027-03-28 06:00", "2027-03-29 06:00"])
        #expect(
            try first(3, daily("08:00", "Europe/Berlin"), createdAt: "2027-10-29 12:00")
                == ["2027-10-30 06:00", "2027-10-31 07:00", "2027-11-01 07:00"])
    }

    @Test("A time in the skipped hour comes an hour later, and one in the repeated hour comes once, at first")
    func berlinGap() throws {
        #expect(
            try first(3, daily("02:30", "Europe/Berlin"), createdAt: "2027-03-26 12:00")
                == ["2027-03-27 01:30", "2027-03-28 01:30", "2027-03-29 00:30"])
        #expect(
            try first(3, daily("02:30", "Europe/Berlin"), createdAt: "2027-10-29 12:00")
                == ["2027-10-30 00:30", "2027-10-31 00:30", "2027-11-01 01:30"])
    }

    @Test("Times that the skipped hour moves onto each other come once, and in the order of time")
    func collisions() throws {
        let rule = #"{"unit":"day","at":["02:30","03:00","03:30"],"timeZone":"Europe/Berlin"}"#
        #expect(
            try first(3, rule, createdAt: "2027-03-27 12:00")
                == ["2027-03-28 01:00", "2027-03-28 01:30", "2027-03-29 00:30"])
    }

    @Test("Lord Howe's clocks change by half an hour")
    func lordHowe() throws {
        #expect(
            try first(3, daily("02:15", "Australia/Lord_Howe"), createdAt: "2027-10-01 12:00")
                == ["2027-10-01 15:45", "2027-10-02 15:45", "2027-10-03 15:15"])
        #expect(
            try first(3, daily("01:45", "Australia/Lord_Howe"), createdAt: "2027-04-02 12:00")
                == ["2027-04-02 14:45", "2027-04-03 14:45", "2027-04-04 15:15"])
    }

    @Test("The day that Apia skipped doesn't ring the next one twice")
    func apia() throws {
        #expect(
            try first(4, daily("08:00", "Pacific/Apia"), createdAt: "2011-12-28 00:00")
                == ["2011-12-28 18:00", "2011-12-29 18:00", "2011-12-30 18:00", "2011-12-31 18:00"])
        let two = #"{"unit":"day","at":["08:00","20:00"],"timeZone":"Pacific/Apia"}"#
        #expect(
            try first(4, two, createdAt: "2011-12-29 19:00")
                == ["2011-12-30 06:00", "2011-12-30 18:00", "2011-12-31 06:00", "2011-12-31 18:00"])
    }

    @Test("Hours count real time, also when the clocks change")
    func hours() throws {
        #expect(
            try first(3, #"{"unit":"hour","interval":12}"#, createdAt: "2027-03-27 18:20")
                == ["2027-03-28 06:20", "2027-03-28 18:20", "2027-03-29 06:20"])
    }

    // MARK: Days

    @Test("The 31st is skipped in shorter months, and -1 is the last day of each")
    func ends() throws {
        func monthly(_ days: String) -> String {
            #"{"unit":"month","on":\#(days),"at":["12:00"],"timeZone":"UTC"}"#
        }
        #expect(
            try first(4, monthly("[31]"), createdAt: "2027-01-15 00:00")
                == ["2027-01-31 12:00", "2027-03-31 12:00", "2027-05-31 12:00", "2027-07-31 12:00"])
        #expect(
            try first(4, monthly("[-1]"), createdAt: "2028-01-15 00:00")
                == ["2028-01-31 12:00", "2028-02-29 12:00", "2028-03-31 12:00", "2028-04-30 12:00"])
        #expect(
            try first(4, monthly("[15,-1,1]"), createdAt: "2027-02-01 12:00")
                == ["2027-02-15 12:00", "2027-02-28 12:00", "2027-03-01 12:00", "2027-03-15 12:00"])
        #expect(try first(3, monthly("[31,-1]"), createdAt: "2027-03-01 00:00").count == 3)
    }

    @Test("29 February comes every four years, and eight years apart around 2100")
    func leapDay() throws {
        let yearly = #"{"unit":"month","interval":12,"on":[29],"at":["12:00"],"timeZone":"UTC"}"#
        #expect(
            try first(3, yearly, createdAt: "2028-02-01 00:00")
                == ["2028-02-29 12:00", "2032-02-29 12:00", "2036-02-29 12:00"])
        #expect(
            try first(2, yearly, createdAt: "2096-02-01 00:00") == ["2096-02-29 12:00", "2104-02-29 12:00"])
    }

    @Test("An interval counts from the first occurrence, in weeks that begin on Monday")
    func intervals() throws {
        let weekly = #"{"unit":"week","interval":2,"on":["mon","fri"],"at":["09:00"],"timeZone":"UTC"}"#
        // 2027-03-03 is a Wednesday.
        #expect(
            try first(4, weekly, createdAt: "2027-03-03 12:00")
                == ["2027-03-05 09:00", "2027-03-15 09:00", "2027-03-19 09:00", "2027-03-29 09:00"])
        let days = #"{"unit":"day","interval":3,"at":["08:00"],"timeZone":"Europe/Berlin"}"#
        #expect(
            try first(3, days, createdAt: "2027-03-26 12:00")
                == ["2027-03-27 07:00", "2027-03-30 06:00", "2027-04-02 06:00"])
        let months = #"{"unit":"month","interval":6,"on":[31],"at":["08:00"],"timeZone":"UTC"}"#
        #expect(
            try first(2, months, createdAt: "2027-08-05 00:00") == ["2027-08-31 08:00", "2028-08-31 08:00"])
    }

    @Test("until is the last moment at which it occurs")
    func until() throws {
        func daily(until: String) throws -> [String] {
            let zone = #""timeZone":"Europe/Berlin","until":"\#(until)""#
            return try first(9, #"{"unit":"day","at":["08:00"],\#(zone)}"#, createdAt: "2027-03-26 12:00")
        }
        #expect(try daily(until: "2027-03-28T08:00:00+02:00") == ["2027-03-27 07:00", "2027-03-28 06:00"])
        #expect(try daily(until: "2027-03-28T07:59:59.999+02:00") == ["2027-03-27 07:00"])
        #expect(try daily(until: "2027-03-27T06:00:00Z").isEmpty)
    }

    // MARK: Zones

    @Test("Each device's zone has its own occurrences, and the next one is the first of all")
    func deviceZones() throws {
        let rule = try Self.recurrence(
            #"{"unit":"day","at":["08:00"],"timeZone":"device"}"#, createdAt: "2027-06-01 00:00")
        let names = ["America/New_York", "Europe/Berlin"]
        #expect(
            Self.first(3, of: rule, zones: names)
                == ["2027-06-01 06:00", "2027-06-01 12:00", "2027-06-02 06:00"])
        let morning = try Self.utc("2027-06-01 06:00")
        #expect(rule.occurs(at: morning, in: "Europe/Berlin", Self.zones))
        #expect(!rule.occurs(at: morning, in: "America/New_York", Self.zones))
        #expect(!rule.occurs(at: morning, in: "Nowhere/Else", Self.zones))
        #expect(rule.next(after: morning, zones: [], Self.zones) == .unknownZone)
        // A zone that the relay doesn't know doesn't affect the others.
        #expect(Self.first(1, of: rule, zones: ["Nowhere/Else"] + names) == ["2027-06-01 06:00"])
    }

    @Test("A zone that the system has lost or renamed is told apart from a recurrence that has ended")
    func unknownZone() throws {
        let rule = try Self.recurrence(
            #"{"unit":"day","at":["08:00"],"timeZone":"Europe/Atlantis","until":"2027-06-03T00:00:00Z"}"#,
            createdAt: "2027-06-01 00:00")
        #expect(rule.next(after: rule.start, zones: [], Self.zones) == .unknownZone)
        #expect(rule.next(after: try Self.utc("2027-06-03 00:00"), zones: [], Self.zones) == .ended)
        // Its next name may be a link from an old name, with the same rules.
        let linked = try Self.recurrence(daily("08:00", "Europe/Kyiv"), createdAt: "2027-06-01 00:00")
        #expect(Self.first(1, of: linked) == ["2027-06-01 05:00"])
    }

    @Test("After new zone data the same stored recurrence occurs by the new rules")
    func newZoneData() throws {
        let directory = try makeTemporaryDirectory()
        func zones(like name: String) throws -> TimeZones {
            try? FileManager.default.removeItem(atPath: directory + "/Zone")
            let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(TimeZones.systemDirectory)/\(name)"))
            try bytes.write(to: URL(fileURLWithPath: directory + "/Zone"))
            return TimeZones(directory: directory)
        }
        let stored = try Self.recurrence(daily("08:00", "Zone"), createdAt: "2027-03-26 12:00").json
        let rule = try #require(Recurrence(stored: stored))
        let before = Self.first(2, of: rule, in: try zones(like: "Europe/Berlin"))
        #expect(before == ["2027-03-27 07:00", "2027-03-28 06:00"])
        // The country has abolished daylight saving time.
        let after = Self.first(2, of: rule, in: try zones(like: "Africa/Algiers"))
        #expect(after == ["2027-03-27 07:00", "2027-03-28 07:00"])
    }
}
