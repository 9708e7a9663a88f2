/// A time zone name that is an offset from UTC, for which systems have no data.
enum FixedOffset {
    /// The offset in seconds east of UTC; `nil` for text that isn't an offset of less than a day.
    ///
    /// `+05:30`, `-0300` and `+5` are read as in ISO 8601 and ECMAScript. `GMT+5:30`, `GMT+0530` and `UTC+2` come from
    /// Java and Apple's systems; in these, plus is east of UTC. In IANA's `Etc/GMT+3`, plus is west.
    static func seconds(_ name: String) -> Int? {
        let bytes = Array(name.utf8)
        for (prefix, sign) in prefixes where bytes.starts(with: prefix.utf8) {
            let rest = bytes.dropFirst(prefix.utf8.count)
            guard !rest.isEmpty else { return prefix.isEmpty ? nil : 0 }
            return signed(rest).map { sign * $0 }
        }
        return nil
    }

    /// The texts that may precede a number, each listed before its own prefixes, and the sign that each gives the
    /// number after it.
    private static let prefixes = [
        ("Etc/GMT", -1), ("Etc/UTC", 1), ("GMT", 1), ("UTC", 1), ("UT", 1), ("", 1),
    ]

    private static func signed(_ text: ArraySlice<UInt8>) -> Int? {
        let sign: Int
        switch text.first {
        case UInt8(ascii: "+"): sign = 1
        case UInt8(ascii: "-"): sign = -1
        default: return nil
        }
        let parts = text.dropFirst().split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        let numbers = parts.compactMap { part in
            (1...4).contains(part.count) && part.allSatisfy { $0 &- 0x30 < 10 }
                ? part.reduce(0) { $0 * 10 + Int($1) - 0x30 } : nil
        }
        let hours: Int
        let minutes: Int
        switch (parts.map(\.count), numbers.count) {
        case ([1], 1), ([2], 1): (hours, minutes) = (numbers[0], 0)
        case ([3], 1), ([4], 1): (hours, minutes) = (numbers[0] / 100, numbers[0] % 100)
        case ([1, 2], 2), ([2, 2], 2): (hours, minutes) = (numbers[0], numbers[1])
        default: return nil
        }
        return hours < 24 && minutes < 60 ? sign * (hours * 3600 + minutes * 60) : nil
    }
}
