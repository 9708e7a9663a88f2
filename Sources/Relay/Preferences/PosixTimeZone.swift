import Programs

/// A time zone with yearly rules, in the format of POSIX `TZ`: `CET-1CEST,M3.5.0,M10.5.0/3`.
struct PosixTimeZone: Hashable, Sendable {
    /// The offset in standard time, in seconds east of UTC.
    private let standard: Int
    private let daylight: Daylight?

    private struct Daylight: Hashable {
        /// The offset in daylight time, in seconds east of UTC.
        var offset: Int
        var start: Change
        var end: Change
    }

    /// A day of the year and a time on that day.
    fileprivate struct Change: Hashable {
        enum Day: Hashable {
            /// `Mm.w.d`: weekday d in week w of month m; week 5 is the last.
            case weekday(month: Int, week: Int, weekday: Int)
            /// `Jn`: 1 to 365, not counting February 29.
            case julian(Int)
            /// `n`: 0 to 365.
            case ordinal(Int)
        }

        var day: Day
        /// Seconds from the start of the day, in local time before the change; may be negative or exceed a day.
        var time: Int
    }

    /// Parses a time zone's text; `nil` if it is invalid.
    init?(_ text: String) {
        var scanner = Scanner(rest: text.utf8[...])
        guard scanner.name(), let west = scanner.time(hoursMax: 24) else { return nil }
        standard = -west
        guard !scanner.rest.isEmpty else {
            daylight = nil
            return
        }
        guard scanner.name() else { return nil }
        var offset = standard + 3600
        if let next = scanner.rest.first, next != UInt8(ascii: ",") {
            guard let west = scanner.time(hoursMax: 24) else { return nil }
            offset = -west
        }
        guard scanner.take(","), let start = scanner.change(), scanner.take(","), let end = scanner.change(),
            scanner.rest.isEmpty
        else { return nil }
        daylight = Daylight(offset: offset, start: start, end: end)
    }

    /// The offset in seconds east of UTC at a time in seconds since 1970.
    func offset(at time: Int64) -> Int {
        guard let daylight else { return standard }
        let year = CivilDate.year(ofDay: (time + Int64(standard)).floorDivided(by: 86_400))
        let start = daylight.start.seconds(in: year) - Int64(standard)
        let end = daylight.end.seconds(in: year) - Int64(daylight.offset)
        // In the southern hemisphere the year starts and ends in daylight time.
        let isDaylight = start < end ? (start..<end).contains(time) : !(end..<start).contains(time)
        return isDaylight ? daylight.offset : standard
    }

    private struct Scanner {
        var rest: Substring.UTF8View

        mutating func take(_ byte: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: byte) else { return false }
            rest.removeFirst()
            return true
        }

        /// Skips an abbreviation: three or more letters, or anything between `<` and `>`.
        mutating func name() -> Bool {
            if take("<") {
                guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return false }
                rest = rest[rest.index(after: end)...]
                return true
            }
            let letters = rest.prefix { ($0 | 0x20) &- UInt8(ascii: "a") < 26 }
            rest = rest.dropFirst(letters.count)
            return letters.count >= 3
        }

        mutating func number(_ range: ClosedRange<Int>) -> Int? {
            let digits = rest.prefix { $0 &- UInt8(ascii: "0") < 10 }
            guard (1...3).contains(digits.count), let number = Int(String(Substring(digits))),
                range.contains(number)
            else { return nil }
            rest = rest.dropFirst(digits.count)
            return number
        }

        /// Parses `[+-]hh[:mm[:ss]]`, in seconds.
        mutating func time(hoursMax: Int) -> Int? {
            let sign = take("-") ? -1 : 1
            if sign == 1 { _ = take("+") }
            guard let hours = number(0...hoursMax) else { return nil }
            var seconds = hours * 3600
            for unit in [60, 1] where take(":") {
                guard let part = number(0...59) else { return nil }
                seconds += part * unit
            }
            return sign * seconds
        }

        mutating func change() -> Change? {
            let day: Change.Day
            if take("M") {
                guard let month = number(1...12), take("."), let week = number(1...5), take("."),
                    let weekday = number(0...6)
                else { return nil }
                day = .weekday(month: month, week: week, weekday: weekday)
            } else if take("J") {
                guard let number = number(1...365) else { return nil }
                day = .julian(number)
            } else {
                guard let number = number(0...365) else { return nil }
                day = .ordinal(number)
            }
            guard take("/") else { return Change(day: day, time: 7200) }
            guard let time = time(hoursMax: 167) else { return nil }
            return Change(day: day, time: time)
        }
    }
}

extension PosixTimeZone.Change {
    /// The time of the change in a year, in seconds since 1970 in local time before the change.
    fileprivate func seconds(in year: Int64) -> Int64 {
        let first = CivilDate.day(year: year, month: 1)
        let isLeap = CivilDate.day(year: year, month: 3) - first == 60
        let day: Int64
        switch self.day {
        case .ordinal(let number): day = first + Int64(number)
        case .julian(let number): day = first + Int64(number - 1) + (isLeap && number >= 60 ? 1 : 0)
        case .weekday(let month, let week, let weekday):
            let begin = CivilDate.day(year: year, month: month)
            let end =
                month == 12
                ? CivilDate.day(year: year + 1, month: 1) : CivilDate.day(year: year, month: month + 1)
            // 1970-01-01 was a Thursday.
            let firstWeekday = (begin + 4) - (begin + 4).floorDivided(by: 7) * 7
            let found = begin + (Int64(weekday) - firstWeekday + 7) % 7 + Int64(week - 1) * 7
            day = found < end ? found : found - 7
        }
        return day * 86_400 + Int64(time)
    }
}

/// Days of the Gregorian calendar, counted from 1970-01-01 (Howard Hinnant's algorithms).
enum CivilDate {
    /// The first day of a month, 1 to 12.
    static func day(year: Int64, month: Int) -> Int64 {
        // Years start in March, so that the leap day is the last day of a year.
        let year = month <= 2 ? year - 1 : year
        let era = year.floorDivided(by: 400)
        let yearOfEra = year - era * 400
        let dayOfYear = Int64((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5)
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// The year that contains a day.
    static func year(ofDay day: Int64) -> Int64 {
        var year = 1970 + (day * 400).floorDivided(by: 146_097)
        while self.day(year: year, month: 1) > day { year -= 1 }
        while self.day(year: year + 1, month: 1) <= day { year += 1 }
        return year
    }
}
