import Storage

/// Compares this machine's clock with those of the servers that told theirs.
enum ClockCheck {
    /// Another clock, read at a time of this machine's.
    struct Reading: Sendable, Equatable {
        /// Whose clock it is.
        let name: String
        /// Its time.
        let server: EpochMilliseconds
        /// This machine's time at the same moment.
        let local: EpochMilliseconds
    }

    /// A finding for each clock; one in all where nobody told the time.
    static func findings(_ readings: [Reading]) -> [CheckFinding] {
        guard !readings.isEmpty else {
            return [.skipped(.clock, "", "neither APNs nor the database told the time")]
        }
        return readings.map(finding)
    }

    private static func finding(_ reading: Reading) -> CheckFinding {
        let skew = reading.local - reading.server
        let size = Duration.milliseconds(abs(skew))
        let seconds = size.components.seconds
        // Dates have whole seconds, and answers take a while.
        guard seconds >= 2 else { return .ok(.clock, "", "as \(reading.name)'s") }
        let text = "\(text(seconds)) \(skew > 0 ? "ahead of" : "behind") \(reading.name)'s"
        if size > Bounds.checkClockSkewMax { return .fault(.clockOff, .clock, "", text) }
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
