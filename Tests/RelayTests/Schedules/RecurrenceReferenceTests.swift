import ChildProcess
import Foundation
import OwnThread
import Storage
import Testing

@testable import Relay

/// Compares the search with another implementation, in Python, whose time zones are read by other code.
@Suite("Recurrences and Python", .timeLimit(.minutes(2)), .ownThread)
struct RecurrenceReferenceTests {
    /// Prints the first occurrences of the recurrence on each line of standard input.
    ///
    /// `fold=0` is RFC 5545's interpretation of local times: the first of two, and the offset before a gap.
    private static let program = """
        import calendar, datetime as d, json, sys, zoneinfo
        names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
        def occurrences(rule, days):
            zone = zoneinfo.ZoneInfo(rule["timeZone"])
            start = d.datetime.fromtimestamp(rule["start"] / 1000, d.timezone.utc)
            first = start.astimezone(zone).date() - d.timedelta(3)
            found = []
            for day in (first + d.timedelta(n) for n in range(days)):
                last = calendar.monthrange(day.year, day.month)[1]
                on = rule.get("on", [])
                if rule["unit"] == "week" and names[day.weekday()] not in on: continue
                if rule["unit"] == "month" and day.day not in on and not (-1 in on and day.day == last): continue
                for text in rule["at"]:
                    time = d.time(int(text[:2]), int(text[3:]), tzinfo=zone)
                    at = d.datetime.combine(day, time).astimezone(d.timezone.utc)
                    if at > start: found.append((at, day))
            found.sort()
            begin = found[0][1]
            def counts(day):
                if rule["unit"] == "day": n = (day - begin).days
                elif rule["unit"] == "month": n = (day.year - begin.year) * 12 + day.month - begin.month
                else: n = ((day - d.timedelta(day.weekday())) - (begin - d.timedelta(begin.weekday()))).days // 7
                return n >= 0 and n % rule["interval"] == 0 and day >= begin
            return sorted({int(at.timestamp()) for at, day in found if counts(day)})
        for line in sys.stdin:
            print(json.dumps(occurrences(json.loads(line), 500)))
        """

    private static func python(_ lines: [String]) throws -> [[Int64]] {
        let input = Data((lines.joined(separator: "\n") + "\n").utf8)
        let answer = try ChildProcess.run("/usr/bin/python3", ["-c", program], input: input)
        return try answer.output.split(separator: "\n").map {
            try JSONDecoder().decode([Int64].self, from: Data($0.utf8))
        }
    }

    @Test("Recurrences of every kind, from 2007 to 2045, occur when Python says, in zones with odd changes")
    func occurrences() throws {
        var random = IDGenerator(seed: 41)
        let zones = [
            "Europe/Berlin", "Europe/Dublin", "Australia/Lord_Howe", "Pacific/Apia", "Pacific/Chatham",
            "America/St_Johns", "America/Sao_Paulo", "America/Santiago", "Africa/Casablanca", "Asia/Gaza",
            "Africa/Cairo", "Asia/Kolkata", "America/Nuuk", "Antarctica/Troll", "UTC",
        ]
        var rules: [Recurrence] = []
        for index in 0..<240 {
            let unit = [Recurrence.Unit.day, .week, .month][index % 3]
            var minutes = Set(
                (0..<Int.random(in: 1...4, using: &random)).map { _ in
                    Int.random(in: 0..<96, using: &random) * 15
                })
            // Times at which most clocks change.
            minutes.insert([0, 30, 60, 120, 150, 180][index % 6])
            let days = Set((0..<3).map { _ in Int.random(in: 25...31, using: &random) })
            rules.append(
                Recurrence(
                    unit: unit, interval: Int.random(in: 1...3, using: &random), times: minutes.sorted(),
                    weekdays: unit == .week ? [.monday, .saturday, .sunday] : [],
                    monthDays: unit == .month ? days.sorted() + [Recurrence.lastDay] : [],
                    zone: .named(zones[index % zones.count]), until: nil,
                    start: Int64.random(in: 1_170_000_000...2_366_000_000, using: &random) * 1000))
        }
        // Before Apia's missing day.
        rules.append(
            Recurrence(
                unit: .day, interval: 1, times: [0, 480, 1425], zone: .named("Pacific/Apia"), until: nil,
                start: 1_325_000_000_000))
        let system = TimeZones()
        let reference = try Self.python(rules.map(\.json))
        #expect(reference.count == rules.count)
        for (rule, expected) in zip(rules, reference) {
            var found: [Int64] = []
            var time = rule.start
            // The reference ends after 500 days, so its last few occurrences may be incomplete.
            for _ in expected.dropLast(30) {
                guard case .at(let next) = rule.next(after: time, zones: [], system) else { break }
                time = next
                found.append(next / 1000)
            }
            #expect(found == Array(expected.dropLast(30)), "\(rule.json)")
        }
    }
}
