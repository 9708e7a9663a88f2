import Network

/// Which names of time zones that this system doesn't know were logged, so that each is logged once in a while.
final class UnknownZones: Sendable {
    private let logged = Lock<[String: MonotonicTime]>([:])

    /// Whether a name wasn't logged within ``Bounds/unknownZoneInterval``; notes that it is logged now.
    ///
    /// Of many names, only ``Bounds/unknownZonesMax`` are logged in that time.
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
