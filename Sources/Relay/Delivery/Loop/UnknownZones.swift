import Network

/// The names of unknown time zones that were logged, so that each is logged only occasionally.
final class UnknownZones: Sendable {
    private let logged = Lock<[String: MonotonicTime]>([:])

    /// Returns whether a name should be logged now; if so, it counts as logged.
    ///
    /// At most ``Bounds/unknownZonesMax`` names are logged per ``Bounds/unknownZoneInterval``, each of them once.
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
