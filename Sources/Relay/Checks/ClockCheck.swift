import Storage

/// Compares this machine's clock with those of servers that report their time.
enum ClockCheck {
    /// Another clock's time, with this machine's time at the same moment.
    struct Reading: Sendable, Equatable {
        /// Whose clock it is.
        let name: String
        /// The other clock's time.
        let server: EpochMilliseconds
        /// This machine's time at the same moment.
        let local: EpochMilliseconds
        /// The difference above which the relay doesn't work properly.
        var skewMax = Bounds.checkClockSkewMax
    }

    /// A finding per clock, or a single one if no server reported its time.
    static func findings(_ readings: [Reading]) -> [CheckFinding] {
        guard !readings.isEmpty else {
            return [.skipped(.clock, "", "neither APNs nor the database reports its time")]
        }
        return readings.map(finding)
    }

    private static func finding(_ reading: Reading) -> CheckFinding {
        let skew = reading.local - reading.server
        let size = Duration.milliseconds(abs(skew))
        let seconds = size.components.seconds
        // Dates are in whole seconds, and responses take time.
        guard seconds >= 2 else { return .ok(.clock, "", "as \(reading.name)'s") }
        let text = "\(text(seconds)) \(skew > 0 ? "ahead of" : "behind") \(reading.name)'s"
        if size > reading.skewMax { return .fault(.clockOff, .clock, "", text) }
        if size > Bounds.checkClockSkewNoticed {
            return .fault(.clockOff, .clock, "", text, status: .warning)
        }
        return .ok(.clock, "", text)
    }

    private static func text(_ seconds: Int64) -> String {
        if seconds < 120 { return "\(seconds) s" }
        return seconds < 7_200 ? "\(seconds / 60) min" : "\(seconds / 3_600) h"
    }
}
