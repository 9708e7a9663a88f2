/// Milliseconds since 1970.
typealias EpochMilliseconds = Int64
