import JSON
import Programs
import Storage

extension Recurrence {
    /// The stored text, at most 1,024 bytes.
    var json: String {
        var object = object
        object["start"] = .int(start)
        return String(decoding: JSON.Value.object(object).encoded(), as: UTF8.self)
    }

    /// The object as callers send it.
    var object: JSON.Object {
        var object = JSON.Object()
        object["unit"] = .string(unit.rawValue)
        object["interval"] = .int(interval)
        if !times.isEmpty { object["at"] = .array(times.map { .string(QuietHours.text($0)) }) }
        if !weekdays.isEmpty { object["on"] = .array(weekdays.map { .string($0.rawValue) }) }
        if !monthDays.isEmpty { object["on"] = .array(monthDays.map { .int($0) }) }
        switch zone {
        case .named(let name): object["timeZone"] = .string(name)
        case .device: object["timeZone"] = "device"
        case nil: break
        }
        object["until"] = until.map { .string(Timestamp($0).text) }
        return object
    }

    /// Reads stored text; `nil` if this program doesn't understand it.
    init?(stored text: String) {
        guard let object = try? JSON.parse(Array(text.utf8), maxBytes: text.utf8.count).object,
            let start = object["start"]?.int.map(EpochMilliseconds.init),
            let recurrence = try? Recurrence(RequestFields(object, within: .every), start: start)
        else { return nil }
        self = recurrence
    }

    /// Validates a request's `every`, but not whether its zone exists; see docs/guide/schedules.md.
    ///
    /// - Parameter start: When the schedule is created.
    init(_ fields: RequestFields, start: EpochMilliseconds) throws(APIError) {
        let unit = try fields.required(.everyUnit)
        guard let unit = Unit(rawValue: unit) else { throw APIError(.invalidField, field: .everyUnit) }
        self.unit = unit
        interval = try fields.integer(.everyInterval, in: 1...unit.intervalMax) ?? 1
        times = try Self.times(fields, unit)
        (weekdays, monthDays) = try Self.days(fields, unit)
        zone = try Self.zone(fields, unit)
        until = try fields.optional(.everyUntil) { $0.string.flatMap(Timestamp.milliseconds(rfc3339:)) }
        self.start = start
    }

    private static func times(_ fields: RequestFields, _ unit: Unit) throws(APIError) -> [Int] {
        guard let texts = try fields.texts(.everyAt) else {
            guard unit == .hour else { throw APIError(.missingField, field: .everyAt) }
            return []
        }
        guard unit != .hour else { throw unused(.everyAt) }
        let minutes = texts.compactMap { QuietHours.minute($0) }.sorted()
        guard (1...Bounds.scheduleTimesMax).contains(texts.count), minutes.count == texts.count,
            // The appended time is the first one again, on the next day.
            zip(minutes, minutes.dropFirst() + [minutes[0] + 1440])
                .allSatisfy({ $1 - $0 >= Bounds.scheduleMinutesMin })
        else { throw APIError(.invalidField, field: .everyAt) }
        return minutes
    }

    private static func days(
        _ fields: RequestFields, _ unit: Unit
    ) throws(APIError) -> (weekdays: [Weekday], monthDays: [Int]) {
        guard let value = fields.value(.everyOn) else {
            guard unit == .hour || unit == .day else { throw APIError(.missingField, field: .everyOn) }
            return ([], [])
        }
        let elements = value.array ?? []
        switch unit {
        case .hour: throw unused(.everyOn)
        case .day:
            throw APIError(
                .invalidField, field: .everyOn,
                hint: "Only the units week and month allow it; use week for certain days of the week.")
        case .week:
            let given = Set(elements.compactMap { $0.string.flatMap(Weekday.init(rawValue:)) })
            guard !given.isEmpty, given.count == elements.count else {
                throw APIError(.invalidField, field: .everyOn)
            }
            return (Weekday.allCases.filter(given.contains), [])
        case .month:
            let given = Set(elements.compactMap(\.wholeNumber))
            guard !given.isEmpty, given.count == elements.count,
                given.allSatisfy({ (1...31).contains($0) || $0 == lastDay })
            else { throw APIError(.invalidField, field: .everyOn) }
            return ([], given.sorted { ($0 == lastDay ? 32 : $0) < ($1 == lastDay ? 32 : $1) })
        }
    }

    private static func zone(_ fields: RequestFields, _ unit: Unit) throws(APIError) -> Zone? {
        guard let name = try fields.optional(.everyTimeZone, where: { $0.count <= TimeZones.nameBytesMax })
        else {
            guard unit == .hour else { throw APIError(.missingField, field: .everyTimeZone) }
            return nil
        }
        guard unit != .hour else { throw unused(.everyTimeZone) }
        return name == "device" ? .device : .named(name)
    }

    /// The error for a field that isn't allowed for hourly recurrences.
    private static func unused(_ field: RequestField) -> APIError {
        APIError(
            .invalidField, field: field,
            hint: "Hours are counted from the schedule's creation, so they have no at, on or timeZone.")
    }
}

extension Recurrence.Unit {
    /// The maximum interval: about a year.
    fileprivate var intervalMax: Int {
        switch self {
        case .hour: Bounds.scheduleHoursMax
        case .day: Bounds.scheduleDaysMax
        case .week: Bounds.scheduleWeeksMax
        case .month: Bounds.scheduleMonthsMax
        }
    }
}
