import Network
import Storage

/// Detects devices that keep taking one installation's registration from each other.
///
/// A backup restored on a second phone gives both the same `deviceID`, and then each gets pushes only until the other
/// registers. Normally a new token replaces the old one for good, so a token that comes back shows that two devices
/// share the installation.
final class ContestedInstallations: Sendable {
    private struct Name: Hashable {
        let secret: SecretHash
        let installation: String
    }

    private struct Change {
        /// Hashes of the tokens, to save memory.
        let from: Int
        let to: Int
        /// When the installation was last reported as contested.
        var notedAt: MonotonicTime?
    }

    private let changes = Lock<[Name: Change]>([:])

    /// Records that a token replaced an installation's old one; true if that should be reported.
    func replaced(
        _ old: String, by new: String, of installation: String, under key: SecretKey, at now: MonotonicTime
    ) -> Bool {
        let name = Name(secret: key.primary, installation: installation)
        let (from, to) = (old.hashValue, new.hashValue)
        return changes.withLock { changes in
            let last = changes[name]
            // Forgetting all changes only delays a report.
            if last == nil, changes.count >= Bounds.installationChangesMax { changes = [:] }
            let isContested = last.map { $0.from == to && $0.to == from } ?? false
            let isQuiet =
                last?.notedAt.map { now.since($0) < Bounds.contestedInstallationInterval } ?? false
            let isReported = isContested && !isQuiet
            changes[name] = Change(from: from, to: to, notedAt: isReported ? now : last?.notedAt)
            return isReported
        }
    }
}
