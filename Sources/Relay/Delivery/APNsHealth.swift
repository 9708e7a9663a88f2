import APNs
import Network

/// Whether APNs takes this relay's credentials, as the last answers say: what `/ready` shows.
final class APNsHealth: Sendable {
    /// A key in an environment: what APNs takes or refuses as one.
    struct Place: Hashable, Sendable {
        let key: AppKey
        let environment: Environment

        static func == (left: Place, right: Place) -> Bool {
            left.key === right.key && left.environment == right.environment
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(ObjectIdentifier(key))
            hasher.combine(environment)
        }
    }

    private struct Fault {
        let reason: String
        let at: MonotonicTime
    }

    /// The newest fault of each place.
    private let faults = Lock<[Place: Fault]>([:])

    /// No fault is known.
    init() {}

    /// APNs refused a push for a reason that only the operator can mend.
    func fault(_ reason: String, in place: Place, at now: MonotonicTime = .current) {
        faults.withLock { $0[place] = Fault(reason: reason, at: now) }
    }

    /// APNs took a push.
    func accepted(in place: Place) {
        faults.withLock { _ = $0.removeValue(forKey: place) }
    }

    /// Forgets the faults of all keys but these.
    func keep(_ keys: [AppKey]) {
        faults.withLock { faults in
            faults = faults.filter { fault in keys.contains { $0 === fault.key.key } }
        }
    }

    /// The reason of the fault that keeps every one of these keys from pushing, production's first; `nil` when
    /// one of them has none.
    ///
    /// One app's bad key must not take the others' relay out of service. Without traffic nothing would ever say that
    /// a fault has been mended, so it counts for ``Bounds/apnsFaultMemory`` only.
    func fault(of keys: [AppKey], at now: MonotonicTime = .current) -> String? {
        faults.withLock { faults in
            var first: String?
            for key in keys {
                let places = [Environment.production, .sandbox].map { Place(key: key, environment: $0) }
                let fault = places.compactMap { faults[$0] }.first
                guard let fault, now.since(fault.at) < Bounds.apnsFaultMemory else { return nil }
                first = first ?? fault.reason
            }
            return first
        }
    }
}
