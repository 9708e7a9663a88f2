import Network

/// The names of unknown time zones that were logged, so that each is logged only occasionally.
final class UnknownZones: Sendable {
    private let logged = Lock<[String: MonotonicTime]>([:])

    /// Returns whether a name should be logged because it wasn't within ``Bounds/unknownZoneInterval``, and records
    /// that it is logged now.
    ///
    /// At most ``Bounds/unknownZonesMax`` names are logged per interval.
    func isWorthLogging(_ name: String, at now: MonotonicTime) -> Bool {
        logged.withLock { logged in
            if let last = logged[name], now.since(last) < Bounds.unknownZoneInterval { return false }
            if logged[name] == nil, logged.count >= Bounds.unknownZonesMax {
                logged = logged.filter { now.since($0.value) < Bounds.unknownZoneInterval }
                guard logged.count < Bounds.unknownZonesMax else { return false }
            }
            logged[name] = now
            return true
        }
    }
}
