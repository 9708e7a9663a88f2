/// A time zone's offsets from UTC, as in a TZif file (RFC 9636): a pure function of the time.
///
/// The file covers past and future daylight saving time, so nothing here depends on today's date.
struct TimeZoneRules: Hashable, Sendable {
    /// When the offset changes, in seconds since 1970, ascending.
    private let transitions: [Int64]
    /// The offset after each transition, in seconds east of UTC.
    private let offsets: [Int]
    /// The offset before the first transition.
    private let firstOffset: Int
    /// The rule after the last transition; `nil` if the offset no longer changes.
    private let rule: PosixTimeZone?

    /// A zone with a fixed offset, in seconds east of UTC.
    init(offset: Int) {
        transitions = []
        offsets = []
        firstOffset = offset
        rule = nil
    }

    /// Parses a file; `nil` if it is invalid or incomplete.
    init?(tzif bytes: [UInt8]) {
        var reader = Reader(bytes: bytes[...])
        guard let first = reader.header() else { return nil }
        var counts = first
        var timeSize = 4
        if first.version >= UInt8(ascii: "2") {
            // Next comes the same data with 64-bit times.
            guard reader.skip(first.size(ofTime: 4)), let second = reader.header() else { return nil }
            counts = second
            timeSize = 8
        }
        guard counts.types > 0, let block = reader.take(counts.size(ofTime: timeSize)) else { return nil }
        var data = Reader(bytes: block)
        var transitions: [Int64] = []
        for _ in 0..<counts.times {
            guard let time = data.integer(timeSize) else { return nil }
            transitions.append(time)
        }
        guard zip(transitions, transitions.dropFirst()).allSatisfy({ $0 < $1 }),
            let kinds = data.take(counts.times)
        else { return nil }
        var types: [Int] = []
        for _ in 0..<counts.types {
            guard let offset = data.integer(4), abs(offset) <= Self.offsetMax, data.skip(2) else {
                return nil
            }
            types.append(Int(offset))
        }
        guard kinds.allSatisfy({ Int($0) < types.count }) else { return nil }
        self.transitions = transitions
        offsets = kinds.map { types[Int($0)] }
        firstOffset = types[0]
        guard timeSize == 8 else {
            rule = nil
            return
        }
        guard let footer = reader.footer() else { return nil }
        guard !footer.isEmpty else {
            rule = nil
            return
        }
        guard let rule = PosixTimeZone(footer) else { return nil }
        self.rule = rule
    }

    /// The offset in seconds east of UTC at a time in seconds since 1970.
    func offset(at time: Int64) -> Int {
        guard let last = transitions.last else { return rule?.offset(at: time) ?? firstOffset }
        if time >= last, let rule { return rule.offset(at: time) }
        var low = 0
        var high = transitions.count
        while low < high {
            let middle = (low + high) / 2
            if transitions[middle] <= time { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? firstOffset : offsets[low - 1]
    }

    /// An upper bound for any zone's offset, in seconds.
    private static let offsetMax: Int64 = 26 * 3600

    /// The counts in a TZif header.
    private struct Counts {
        var version: UInt8
        var utcMarks: Int
        var standardMarks: Int
        var leaps: Int
        var times: Int
        var types: Int
        var names: Int

        /// The size in bytes of the data that follows the header.
        func size(ofTime size: Int) -> Int {
            times * (size + 1) + types * 6 + names + leaps * (size + 4) + standardMarks + utcMarks
        }
    }

    /// Reads big-endian values; `nil` beyond the end of the bytes.
    private struct Reader {
        var bytes: ArraySlice<UInt8>

        mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
            guard count >= 0, count <= bytes.count else { return nil }
            defer { bytes = bytes.dropFirst(count) }
            return bytes.prefix(count)
        }

        mutating func skip(_ count: Int) -> Bool { take(count) != nil }

        mutating func integer(_ size: Int) -> Int64? {
            guard let part = take(size) else { return nil }
            let number = part.reduce(into: UInt64(0)) { $0 = $0 << 8 | UInt64($1) }
            return size == 4
                ? Int64(Int32(bitPattern: UInt32(truncatingIfNeeded: number))) : Int64(bitPattern: number)
        }

        mutating func header() -> Counts? {
            guard take(4)?.elementsEqual("TZif".utf8) == true, let version = take(1)?.first, skip(15) else {
                return nil
            }
            var counts: [Int] = []
            for _ in 0..<6 {
                // No real file's counts come near the bound, which prevents overflow.
                guard let count = integer(4), (0...65_535).contains(count) else { return nil }
                counts.append(Int(count))
            }
            return Counts(
                version: version, utcMarks: counts[0], standardMarks: counts[1], leaps: counts[2],
                times: counts[3], types: counts[4], names: counts[5])
        }

        mutating func footer() -> String? {
            guard take(1)?.first == UInt8(ascii: "\n"), let end = bytes.firstIndex(of: UInt8(ascii: "\n"))
            else {
                return nil
            }
            return String(decoding: bytes[..<end], as: UTF8.self)
        }
    }
}
