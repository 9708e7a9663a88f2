import Storage
import Testing

@testable import Relay

@Suite("What is due in which zones", .timeLimit(.minutes(1)))
struct DuePlanTests {
    private static let zones = ["America/New_York", "Europe/Berlin"]

    /// The plan at a time for a schedule whose next occurrence was due at another time.
    private func plan(
        _ every: String, zones: [String] = zones, nextAt: String, at now: String,
        lateBy: EpochMilliseconds = 3_600, lastAt: String? = nil
    ) throws -> DuePlan {
        let rule = try RecurrenceTests.recurrence(every, createdAt: "2027-06-01 00:00")
        var generator = IDGenerator(seed: 1)
        var schedule = Schedule(
            id: UUIDv7(at: rule.start, using: &generator), secretHash: RelayFixture.key.primary,
            kind: .schedule, rule: rule.json, content: "{}", nextAt: try RecurrenceTests.utc(nextAt),
            lateBy: lateBy * 1000, createdAt: rule.start)
        schedule.lastAt = try lastAt.map(RecurrenceTests.utc)
        return DuePlan(
            of: schedule, .recurrence(rule), zones: zones, TimeZones(), at: try RecurrenceTests.utc(now))
    }

    private func expected(
        send: String?, skipped: Int = 0, next: String?, zones: Set<String>?
    ) throws -> DuePlan {
        .plan(
            OccurrencePlan(
                send: try send.map(RecurrenceTests.utc), skipped: skipped,
                next: try next.map(RecurrenceTests.utc)), zones: zones)
    }

    private let daily = #"{"unit":"day","at":["08:00"],"timeZone":"device"}"#

    @Test("An occurrence goes to the devices in whose zone it is, and the next is that of the next zone")
    func inTime() throws {
        #expect(
            try plan(daily, nextAt: "2027-06-02 06:00", at: "2027-06-02 06:00")
                == expected(
                    send: "2027-06-02 06:00", next: "2027-06-02 12:00", zones: ["Europe/Berlin"]))
        #expect(
            try plan(daily, nextAt: "2027-06-02 12:00", at: "2027-06-02 12:01")
                == expected(
                    send: "2027-06-02 12:00", next: "2027-06-03 06:00", zones: ["America/New_York"]))
        // Two zones with the same offset share an occurrence.
        #expect(
            try plan(
                daily, zones: ["Europe/Berlin", "Europe/Paris"], nextAt: "2027-06-02 06:00",
                at: "2027-06-02 06:00")
                == expected(
                    send: "2027-06-02 06:00", next: "2027-06-03 06:00",
                    zones: ["Europe/Berlin", "Europe/Paris"]))
    }

    @Test("After an outage each zone gets its newest occurrence, one after the other")
    func outage() throws {
        let day: EpochMilliseconds = 86_400
        #expect(
            try plan(daily, nextAt: "2027-06-02 06:00", at: "2027-06-03 05:00", lateBy: day)
                == expected(
                    send: "2027-06-02 06:00", next: "2027-06-02 12:00", zones: ["Europe/Berlin"]))
        #expect(
            try plan(daily, nextAt: "2027-06-02 12:00", at: "2027-06-03 05:00", lateBy: day)
                == expected(
                    send: "2027-06-02 12:00", next: "2027-06-03 06:00", zones: ["America/New_York"]))
        // An occurrence that is too late is skipped in all zones at once.
        #expect(
            try plan(daily, nextAt: "2027-06-02 06:00", at: "2027-06-04 05:00")
                == expected(send: nil, skipped: 2, next: "2027-06-04 06:00", zones: nil))
    }

    @Test("A device that moved is served at its zone's next time")
    func moved() throws {
        // The row is for Berlin's time, but the phone is in New York now.
        #expect(
            try plan(
                daily, zones: ["America/New_York"], nextAt: "2027-06-02 06:00", at: "2027-06-02 06:00")
                == expected(send: nil, next: "2027-06-02 12:00", zones: nil))
    }

    @Test("Without a known zone nothing is sent and nothing ends")
    func unknown() throws {
        #expect(
            try plan(daily, zones: [], nextAt: "2027-06-02 06:00", at: "2027-06-02 06:00") == .unknownZone)
        #expect(
            try plan(
                #"{"unit":"day","at":["08:00"],"timeZone":"Europe/Atlantis"}"#, nextAt: "2027-06-02 06:00",
                at: "2027-06-02 06:00") == .unknownZone)
    }

    @Test("The occurrence at until is the last one in each zone")
    func until() throws {
        let last = #"{"unit":"day","at":["08:00"],"timeZone":"device","until":"2027-06-02T12:00:00Z"}"#
        #expect(
            try plan(last, nextAt: "2027-06-02 06:00", at: "2027-06-02 06:00")
                == expected(
                    send: "2027-06-02 06:00", next: "2027-06-02 12:00", zones: ["Europe/Berlin"]))
        #expect(
            try plan(last, nextAt: "2027-06-02 12:00", at: "2027-06-02 12:00")
                == expected(send: "2027-06-02 12:00", next: nil, zones: ["America/New_York"]))
    }

    // In summer, 08:00 in Berlin is 06:00 UTC. Rows with another time were written with different zone data.
    private let berlin = #"{"unit":"day","at":["08:00"],"timeZone":"Europe/Berlin"}"#

    @Test("An occurrence that new zone data moved to a later time is sent then, and only then")
    func movedLater() throws {
        let moved = try expected(send: nil, next: "2027-06-02 06:00", zones: nil)
        for lastAt in [nil, "2027-06-01 06:00"] {
            #expect(
                try plan(berlin, nextAt: "2027-06-02 05:00", at: "2027-06-02 05:00", lastAt: lastAt) == moved)
            #expect(
                try plan(berlin, nextAt: "2027-06-02 05:00", at: "2027-06-02 03:00", lastAt: lastAt) == moved)
        }
        #expect(
            try plan(berlin, nextAt: "2027-06-02 05:00", at: "2027-06-02 06:01")
                == expected(send: "2027-06-02 06:00", next: "2027-06-03 06:00", zones: nil))
        // There is no occurrence after the end.
        let ends = berlin.dropLast() + #","until":"2027-06-02T05:00:00Z"}"#
        #expect(
            try plan(String(ends), nextAt: "2027-06-02 05:00", at: "2027-06-02 05:00")
                == expected(send: nil, next: nil, zones: nil))
    }

    @Test("An occurrence that new zone data moved to an earlier time is sent as soon as it is seen")
    func movedEarlier() throws {
        let sent = try expected(send: "2027-06-02 06:00", next: "2027-06-03 06:00", zones: nil)
        for now in ["2027-06-02 06:30", "2027-06-02 07:00"] {
            #expect(try plan(berlin, nextAt: "2027-06-02 07:00", at: now) == sent)
            #expect(try plan(berlin, nextAt: "2027-06-02 07:00", at: now, lastAt: "2027-06-01 07:01") == sent)
        }
        #expect(
            try plan(berlin, nextAt: "2027-06-02 07:00", at: "2027-06-02 05:00")
                == expected(send: nil, next: "2027-06-02 06:00", zones: nil))
        #expect(
            try plan(berlin, nextAt: "2027-06-02 07:00", at: "2027-06-02 07:01")
                == expected(send: nil, skipped: 1, next: "2027-06-03 06:00", zones: nil))
    }

    @Test("What was sent isn't sent again because the next occurrence is close")
    func sentBefore() throws {
        let often = #"{"unit":"day","at":["08:00","08:15"],"timeZone":"Europe/Berlin"}"#
        let second = try expected(send: "2027-06-02 06:15", next: "2027-06-03 06:00", zones: nil)
        // The first was sent in time, or so late that the second was already due.
        for lastAt in ["2027-06-02 06:01", "2027-06-02 06:16"] {
            #expect(
                try plan(often, nextAt: "2027-06-02 06:15", at: "2027-06-02 06:16", lastAt: lastAt) == second)
        }
    }

    @Test("All devices get an occurrence in a named zone, and hours")
    func named() throws {
        #expect(
            try plan(
                #"{"unit":"day","at":["08:00"],"timeZone":"Europe/Berlin"}"#, nextAt: "2027-06-02 06:00",
                at: "2027-06-02 06:00")
                == expected(send: "2027-06-02 06:00", next: "2027-06-03 06:00", zones: nil))
        #expect(
            try plan(#"{"unit":"hour"}"#, nextAt: "2027-06-02 06:00", at: "2027-06-02 08:30")
                == expected(send: "2027-06-02 08:00", skipped: 2, next: "2027-06-02 09:00", zones: nil))
    }
}
