import Glibc

/// The delay before a response.
///
/// Times are in milliseconds.
package enum Latency: Hashable, Sendable {
    case fixed(Double)
    case uniform(Double, Double)
    /// The normal distribution, truncated at zero.
    case normal(mean: Double, deviation: Double)
    /// Delays by percentile, interpolated linearly.
    case percentiles([Percentile])

    /// One point of a percentile table.
    package struct Percentile: Hashable, Sendable {
        package let percent: Double
        package let milliseconds: Double

        /// Creates a point.
        package init(percent: Double, milliseconds: Double) {
            self.percent = percent
            self.milliseconds = milliseconds
        }
    }

    /// The longest delay of any distribution: ten minutes, in milliseconds.
    package static let millisecondsMax = 600_000.0

    /// No delay.
    package static let none = Latency.fixed(0)

    /// Draws the delay for one response.
    package func sample(using generator: inout SeededGenerator) -> Duration {
        let milliseconds: Double
        switch self {
        case .fixed(let value): milliseconds = value
        case .uniform(let low, let high): milliseconds = low + (high - low) * generator.nextUnit()
        case .normal(let mean, let deviation):
            // Box-Muller; subtracting from 1 keeps zero out of the logarithm.
            let radius = sqrt(-2 * log(1 - generator.nextUnit()))
            milliseconds = mean + deviation * radius * cos(2 * Double.pi * generator.nextUnit())
        case .percentiles(let table): milliseconds = Self.interpolate(table, at: 100 * generator.nextUnit())
        }
        return .nanoseconds(Int64(min(max(milliseconds, 0), Self.millisecondsMax) * 1_000_000))
    }

    private static func interpolate(_ table: [Percentile], at percent: Double) -> Double {
        var below = Percentile(percent: 0, milliseconds: table.first?.milliseconds ?? 0)
        for point in table {
            if percent <= point.percent {
                let width = point.percent - below.percent
                let part = width > 0 ? (percent - below.percent) / width : 1
                return below.milliseconds + (point.milliseconds - below.milliseconds) * part
            }
            below = point
        }
        return below.milliseconds
    }
}

extension Latency {
    /// The text syntax of a latency.
    package static let syntax =
        "50ms, 10ms-50ms, normal:50ms,10ms or percentiles:50=20ms,99=100ms,100=500ms (units: us, ms, s)"

    /// Parses ``syntax``; `nil` for anything else.
    package init?(_ text: String) {
        let latency: Latency? =
            if let rest = text.dropPrefix("normal:") {
                Self.normal(rest)
            } else if let rest = text.dropPrefix("percentiles:") {
                Self.percentiles(rest)
            } else {
                Self.fixedOrUniform(text[...])
            }
        guard let latency else { return nil }
        self = latency
    }

    private static func fixedOrUniform(_ text: Substring) -> Latency? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        let times = parts.compactMap(milliseconds)
        guard times.count == parts.count else { return nil }
        switch times.count {
        case 1: return .fixed(times[0])
        case 2 where times[0] <= times[1]: return .uniform(times[0], times[1])
        default: return nil
        }
    }

    private static func normal(_ text: Substring) -> Latency? {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        let times = parts.compactMap(milliseconds)
        guard parts.count == 2, times.count == 2 else { return nil }
        return .normal(mean: times[0], deviation: times[1])
    }

    private static func percentiles(_ text: Substring) -> Latency? {
        var table: [Percentile] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let sides = part.split(separator: "=", omittingEmptySubsequences: false)
            guard sides.count == 2, let percent = Double(sides[0]), (0...100).contains(percent),
                let time = milliseconds(sides[1])
            else { return nil }
            if let last = table.last, percent <= last.percent || time < last.milliseconds { return nil }
            table.append(Percentile(percent: percent, milliseconds: time))
        }
        return table.isEmpty ? nil : .percentiles(table)
    }

    private static func milliseconds(_ text: Substring) -> Double? {
        let units: [(String, Double)] = [("us", 0.001), ("ms", 1), ("s", 1_000)]
        for (unit, factor) in units where text.hasSuffix(unit) {
            let number = text.dropLast(unit.count)
            guard number.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }),
                let value = Double(number)
            else { continue }
            return value * factor <= millisecondsMax ? value * factor : nil
        }
        return text == "0" ? 0 : nil
    }
}

extension Latency: CustomStringConvertible {
    /// The text that parses to the same latency.
    package var description: String {
        switch self {
        case .fixed(let time): return Self.text(time) + "ms"
        case .uniform(let low, let high): return Self.text(low) + "ms-" + Self.text(high) + "ms"
        case .normal(let mean, let deviation):
            return "normal:" + Self.text(mean) + "ms," + Self.text(deviation) + "ms"
        case .percentiles(let table):
            let points = table.map { Self.text($0.percent) + "=" + Self.text($0.milliseconds) + "ms" }
            return "percentiles:" + points.joined(separator: ",")
        }
    }

    private static func text(_ number: Double) -> String {
        number == number.rounded() ? String(Int(number)) : String(number)
    }
}

extension String {
    fileprivate func dropPrefix(_ prefix: String) -> Substring? {
        hasPrefix(prefix) ? dropFirst(prefix.count) : nil
    }
}
