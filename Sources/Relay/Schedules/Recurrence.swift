import Programs
import Storage

/// When a schedule recurs: a pure value, stored with the schedule as JSON.
///
/// Supports a fixed subset of RFC 5545's recurrence rules. Hours count elapsed time; the other units follow local time
/// in a time zone. Days that a month doesn't have are skipped.
struct Recurrence: Hashable, Sendable {
    /// The unit of an interval.
    enum Unit: String, CaseIterable, Sendable {
        case hour, day, week, month
    }

    /// The days of a week, in the order of ISO 8601.
    enum Weekday: String, CaseIterable, Sendable {
        case monday = "mon"
        case tuesday = "tue"
        case wednesday = "wed"
        case thursday = "thu"
        case friday = "fri"
        case saturday = "sat"
        case sunday = "sun"
    }

    /// The last day of a month.
    static let lastDay = -1

    /// The time zone of a recurrence's local times.
    enum Zone: Hashable, Sendable {
        /// The zone with this IANA name.
        case named(String)
        /// Each device's own zone.
        case device
    }

    let unit: Unit
    /// The number of units between occurrences, counted from the first occurrence after ``start``.
    let interval: Int
    /// The times of day, in minutes after midnight, ascending; empty for hourly recurrences.
    let times: [Int]
    /// The days of a week, in order.
    let weekdays: [Weekday]
    /// The days of a month, ascending, with ``lastDay`` last.
    let monthDays: [Int]
    /// The time zone; `nil` for hourly recurrences.
    let zone: Zone?
    /// The last moment at which the schedule may recur; `nil` if it has no end.
    let until: EpochMilliseconds?
    /// When the schedule was created; occurrences are later than this.
    let start: EpochMilliseconds

    /// Creates a recurrence from its parts, which must be valid and in order.
    init(
        unit: Unit, interval: Int, times: [Int] = [], weekdays: [Weekday] = [], monthDays: [Int] = [],
        zone: Zone?, until: EpochMilliseconds?, start: EpochMilliseconds
    ) {
        self.unit = unit
        self.interval = interval
        self.times = times
        self.weekdays = weekdays
        self.monthDays = monthDays
        self.zone = zone
        self.until = until
        self.start = start
    }

    /// Whether each device's own zone applies.
    var usesDeviceZones: Bool { zone == .device }

    /// The result of a search for the next occurrence.
    enum Next: Hashable, Sendable {
        case at(EpochMilliseconds)
        /// There are no more occurrences.
        case ended
        /// This system doesn't know the zone, or no device has a known zone.
        case unknownZone
    }

    /// The first occurrence strictly after a time.
    ///
    /// - Parameters:
    ///   - zones: The names of the devices' zones, used only if ``usesDeviceZones``; the result is then the first
    ///     occurrence in any of them.
    ///   - timeZones: The system's time zones.
    func next(after time: EpochMilliseconds, zones: [String], _ timeZones: TimeZones) -> Next {
        let time = max(time, start)
        if let until, time >= until { return .ended }
        let found: EpochMilliseconds?
        switch zone {
        case nil:
            let step = EpochMilliseconds(interval) * 3_600_000
            found = start + ((time - start) / step + 1) * step
        case .named(let name):
            guard let rules = timeZones.zone(name) else { return .unknownZone }
            found = next(after: time, in: rules)
        case .device:
            let known = zones.compactMap(timeZones.zone)
            guard !known.isEmpty else { return .unknownZone }
            found = known.compactMap { next(after: time, in: $0) }.min()
        }
        guard let found, until.map({ found <= $0 }) ?? true else { return .ended }
        return .at(found)
    }

    /// Whether a time is an occurrence in a zone, for a recurrence that ``usesDeviceZones``.
    func occurs(at time: EpochMilliseconds, in zone: String, _ timeZones: TimeZones) -> Bool {
        next(after: time - 1, zones: [zone], timeZones) == .at(time)
    }
}

// MARK: The search in a zone

extension Recurrence {
    /// An occurrence and the local day for which it was found.
    private struct Occurrence {
        /// The time of the occurrence, in seconds since 1970.
        var time: Int64
        var day: Int64
    }

    /// The first occurrence after a time in a zone, regardless of ``until``; `nil` if there is none for years.
    private func next(after time: EpochMilliseconds, in zone: TimeZoneRules) -> EpochMilliseconds? {
        var firstDay: Int64?
        if interval > 1 {
            // The interval is counted from the first occurrence, which doesn't depend on the interval.
            guard let first = search(after: start, in: zone, from: nil) else { return nil }
            firstDay = first.day
        }
        return search(after: time, in: zone, from: firstDay).map { $0.time * 1000 }
    }

    /// - Parameter firstDay: The local day from which the interval is counted; `nil` for an interval of 1.
    private func search(
        after time: EpochMilliseconds, in zone: TimeZoneRules, from firstDay: Int64?
    ) -> Occurrence? {
        let after = time.floorDivided(by: 1000)
        // A change of the offset can move a time to the next day, or past an entire skipped day.
        let shiftMax: Int64 = 2
        let begin = max(zone.day(at: after) - shiftMax, firstDay ?? .min)
        var found: Occurrence?
        var day = begin
        while day < begin + Int64(Bounds.scheduleSearchDaysMax) {
            if let found, day > found.day + shiftMax { break }
            if includes(day, from: firstDay) {
                for minute in times {
                    let time = zone.time(ofLocal: day * 86_400 + Int64(minute) * 60)
                    if time > after, time < found?.time ?? .max { found = Occurrence(time: time, day: day) }
                }
            }
            day += 1
        }
        return found
    }

    /// Whether the schedule recurs on a local day.
    private func includes(_ day: Int64, from firstDay: Int64?) -> Bool {
        switch unit {
        case .hour: return false
        case .day:
            return firstDay.map { (day - $0) % Int64(interval) == 0 } ?? true
        case .week:
            // 1970-01-01 was a Thursday; weeks begin on Mondays.
            let weekday = day + 3 - (day + 3).floorDivided(by: 7) * 7
            guard weekdays.contains(Weekday.allCases[Int(weekday)]) else { return false }
            func week(_ day: Int64) -> Int64 { (day + 3).floorDivided(by: 7) }
            return firstDay.map { (week(day) - week($0)) % Int64(interval) == 0 } ?? true
        case .month:
            let date = Timestamp.date(ofDay: day)
            guard
                monthDays.contains(Int(date.day))
                    || monthDays.last == Self.lastDay && Timestamp.date(ofDay: day + 1).day == 1
            else { return false }
            return firstDay.map { firstDay in
                let first = Timestamp.date(ofDay: firstDay)
                return ((date.year - first.year) * 12 + date.month - first.month) % Int64(interval) == 0
            } ?? true
        }
    }
}
