import Programs
import Storage

extension TimeZoneRules {
    /// The time at which the zone's clocks show a local time, in seconds since 1970.
    ///
    /// If a local time occurs twice, the first one is used. A skipped local time is interpreted with the offset before
    /// the change: 02:30 on a night when clocks go from 02:00 to 03:00 is 03:30. Source: RFC 5545, section 3.3.5.
    ///
    /// - Parameter local: The date and time of day as if it were UTC, in seconds since 1970.
    func time(ofLocal local: Int64) -> Int64 {
        // No offset exceeds a day, so one of these applies before any change near that time and the other after it.
        let before = Int64(offset(at: local - 86_400))
        let after = Int64(offset(at: local + 86_400))
        let first = local - before
        guard before != after, offset(at: first) != Int(before) else { return first }
        let second = local - after
        return offset(at: second) == Int(after) ? second : first
    }

    /// The local day at a time in seconds since 1970, counted from 1970-01-01.
    func day(at time: Int64) -> Int64 {
        (time + Int64(offset(at: time))).floorDivided(by: 86_400)
    }
}

extension Timestamp {
    /// Milliseconds since 1970 for a time in RFC 3339 format with an offset, such as `2027-03-28T08:00:00+02:00`; `nil`
    /// for anything else.
    ///
    /// Fractions of a second are read to the millisecond. There are no leap seconds in milliseconds since 1970, so
    /// `:60` is refused.
    static func milliseconds(rfc3339 text: String) -> EpochMilliseconds? {
        var scanner = RFC3339Scanner(rest: Array(text.utf8)[...])
        guard let year = scanner.number(4, in: 0...9999), scanner.take("-"),
            let month = scanner.number(2, in: 1...12), scanner.take("-"),
            let day = scanner.number(2, in: 1...31), scanner.take("T") || scanner.take("t"),
            let hour = scanner.number(2, in: 0...23), scanner.take(":"),
            let minute = scanner.number(2, in: 0...59), scanner.take(":"),
            let second = scanner.number(2, in: 0...59), let fraction = scanner.fraction(),
            let offset = scanner.offset(), scanner.rest.isEmpty
        else { return nil }
        let first = CivilDate.day(year: Int64(year), month: month)
        let isLast = month == 12
        let next = CivilDate.day(year: Int64(isLast ? year + 1 : year), month: isLast ? 1 : month + 1)
        guard first + Int64(day) <= next else { return nil }
        let days = first + Int64(day - 1)
        let seconds = days * 86_400 + Int64(hour * 3600 + minute * 60 + second - offset)
        // The offset may move the time beyond four-digit years, in which case it couldn't be written as text again.
        guard
            (CivilDate.day(year: 0, month: 1)..<CivilDate.day(year: 10_000, month: 1))
                .contains(seconds.floorDivided(by: 86_400))
        else { return nil }
        return seconds * 1000 + Int64(fraction)
    }
}

private struct RFC3339Scanner {
    var rest: ArraySlice<UInt8>

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func digit() -> Int? {
        guard let byte = rest.first, byte &- 0x30 < 10 else { return nil }
        rest.removeFirst()
        return Int(byte) - 0x30
    }

    mutating func number(_ digits: Int, in range: ClosedRange<Int>) -> Int? {
        var number = 0
        for _ in 0..<digits {
            guard let digit = digit() else { return nil }
            number = number * 10 + digit
        }
        return range.contains(number) ? number : nil
    }

    /// Reads a fraction of a second, in milliseconds; 0 if there is none.
    mutating func fraction() -> Int? {
        guard take(".") else { return 0 }
        guard var milliseconds = digit().map({ $0 * 100 }) else { return nil }
        var unit = 10
        while let digit = digit() {
            milliseconds += digit * unit
            unit /= 10
        }
        return milliseconds
    }

    /// Reads an offset, in seconds east of UTC.
    mutating func offset() -> Int? {
        if take("Z") || take("z") { return 0 }
        let sign = take("-") ? -1 : 1
        guard sign == -1 || take("+"), let hours = number(2, in: 0...23), take(":"),
            let minutes = number(2, in: 0...59)
        else { return nil }
        return sign * (hours * 3600 + minutes * 60)
    }
}
