import APNs
import Network

/// Whether APNs takes this relay's credentials, as the last answers say: what `/ready` shows.
final class APNsHealth: Sendable {
    private let faults = Lock<[Environment: String]>([:])

    /// No fault is known.
    init() {}

    /// APNs refused a push for a reason that only the operator can mend.
    func fault(_ reason: String, in environment: Environment) {
        faults.withLock { $0[environment] = reason }
    }

    /// APNs took a push.
    func accepted(in environment: Environment) {
        faults.withLock { _ = $0.removeValue(forKey: environment) }
    }

    /// The reason of the fault that is there, production's first; `nil` when all is well.
    var fault: String? {
        faults.withLock { $0[.production] ?? $0[.sandbox] }
    }
}
