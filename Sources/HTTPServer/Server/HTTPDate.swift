/// The date format of HTTP messages (RFC 9110, section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
package enum HTTPDate {
    private static let weekdays: [StaticString] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months: [StaticString] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Formats a date; `unixTime` is in seconds, 1970 or later.
    package static func text(unixTime: Int) -> String {
        String(decoding: line(unixTime: unixTime).dropFirst("Date: ".utf8.count).dropLast(2), as: UTF8.self)
    }

    /// Parses a date in the preferred format into seconds since 1970; `nil` for anything else.
    ///
    /// Ignores the weekday.
    package static func unixTime(of text: String) -> Int? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", let day = Int(parts[1]), let year = Int(parts[3]),
            let month = months.firstIndex(where: { $0.description == parts[2] }),
            (1...31).contains(day), (1970...9999).contains(year)
        else { return nil }
        let clock = parts[4].split(separator: ":").map { Int($0) ?? -1 }
        // 60 is a leap second.
        guard clock.count == 3, (0...23).contains(clock[0]), (0...59).contains(clock[1]),
            (0...60).contains(clock[2])
        else { return nil }
        return daysSince1970(year, month + 1, day) * 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2]
    }

    /// The inverse of `civil`.
    private static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let marchYear = month <= 2 ? year - 1 : year
        let era = marchYear / 400
        let yearOfEra = marchYear % 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// A `Date` header line with its CRLF; `unixTime` is in seconds, 1970 or later.
    static func line(unixTime: Int) -> [UInt8] {
        let days = unixTime / 86_400
        let (year, month, day) = civil(days)
        var line: [UInt8] = []
        line.reserveCapacity(37)
        line.append(static: "Date: ")
        line.append(static: weekdays[days % 7])
        line.append(static: ", ")
        line.append(twoDigits: day)
        line.append(UInt8(ascii: " "))
        line.append(static: months[month - 1])
        line.append(UInt8(ascii: " "))
        line.append(decimal: year)
        line.append(UInt8(ascii: " "))
        line.append(twoDigits: unixTime / 3600 % 24)
        line.append(UInt8(ascii: ":"))
        line.append(twoDigits: unixTime / 60 % 60)
        line.append(UInt8(ascii: ":"))
        line.append(twoDigits: unixTime % 60)
        line.append(static: " GMT\r\n")
        return line
    }

    /// The Gregorian date of a day counted from 1970-01-01; counts years from March, so that the leap day comes last.
    private static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let sinceMarch0 = days + 719_468  // from 0000-03-01
        let era = sinceMarch0 / 146_097
        let dayOfEra = sinceMarch0 % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }
}

extension [UInt8] {
    fileprivate mutating func append(twoDigits number: Int) {
        append(UInt8(ascii: "0") + UInt8(number / 10))
        append(UInt8(ascii: "0") + UInt8(number % 10))
    }
}
