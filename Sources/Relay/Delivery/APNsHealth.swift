import APNs
import Network

/// Whether APNs takes this relay's credentials, as the last answers say: what `/ready` shows.
final class APNsHealth: Sendable {
    private struct Fault {
        let reason: String
        let at: MonotonicTime
    }

    /// The newest fault of each environment.
    private let faults = Lock<[Environment: Fault]>([:])

    /// No fault is known.
    init() {}

    /// APNs refused a push for a reason that only the operator can mend.
    func fault(_ reason: String, in environment: Environment, at now: MonotonicTime = .current) {
        faults.withLock { $0[environment] = Fault(reason: reason, at: now) }
    }

    /// APNs took a push.
    func accepted(in environment: Environment) {
        faults.withLock { _ = $0.removeValue(forKey: environment) }
    }

    /// The reason of the fault that is there, production's first; `nil` when all is well.
    ///
    /// Without traffic nothing would ever say that the fault has been mended, so it counts for
    /// ``Bounds/apnsFaultMemory`` only.
    func fault(at now: MonotonicTime = .current) -> String? {
        faults.withLock { faults in
            let fault = faults[.production] ?? faults[.sandbox]
            guard let fault, now.since(fault.at) < Bounds.apnsFaultMemory else { return nil }
            return fault.reason
        }
    }
}
