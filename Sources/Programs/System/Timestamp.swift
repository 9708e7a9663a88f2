/// A time in RFC 3339 format, in UTC with milliseconds.
package struct Timestamp: Sendable {
    private let milliseconds: Int64

    /// Creates a time from milliseconds since 1970.
    package init(_ milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// The time in the form `2026-11-21T12:47:37.123Z`.
    package var text: String {
        let day = milliseconds.floorDivided(by: 86_400_000)
        let time = milliseconds - day * 86_400_000
        let date = Self.date(ofDay: day)
        return String(unsafeUninitializedCapacity: 24) { buffer in
            var count = 0
            func append(_ number: Int64, _ digits: Int, _ mark: UInt8) {
                var rest = number
                for place in stride(from: count + digits - 1, through: count, by: -1) {
                    buffer[place] = UInt8(ascii: "0") + UInt8(rest % 10)
                    rest /= 10
                }
                buffer[count + digits] = mark
                count += digits + 1
            }
            append(date.year, 4, UInt8(ascii: "-"))
            append(date.month, 2, UInt8(ascii: "-"))
            append(date.day, 2, UInt8(ascii: "T"))
            append(time / 3_600_000, 2, UInt8(ascii: ":"))
            append(time / 60_000 % 60, 2, UInt8(ascii: ":"))
            append(time / 1000 % 60, 2, UInt8(ascii: "."))
            append(time % 1000, 3, UInt8(ascii: "Z"))
            return count
        }
    }

    /// The time in the form `2026-11-21 12:47:37`, for output that states that it is UTC.
    package var toTheSecond: String {
        String(text.prefix(10)) + " " + String(text.prefix(19).suffix(8))
    }

    /// The Gregorian date of a day counted from 1970-01-01 (Howard Hinnant's `civil_from_days`).
    ///
    /// Years start in March, so that the leap day is the last day of a year.
    package static func date(ofDay day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = day + 719_468
        let era = shifted.floorDivided(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }
}

extension Int64 {
    /// The quotient rounded down, even for negative numbers.
    package func floorDivided(by divisor: Int64) -> Int64 {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }
}
