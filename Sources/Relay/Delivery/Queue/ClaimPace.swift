import Network
import Storage

/// Limits how often a claim scans beyond secrets' backlogs, which bounds the cost of long backlogs.
///
/// To find one secret's push behind another's 10,000, the database scans all of them. After such a scan, claims
/// take only the oldest rows for a multiple of the time that the scan took.
struct ClaimPace: Hashable, Sendable {
    private var restsUntil = MonotonicTime(nanoseconds: 0)

    /// The scope of a claim that starts now.
    func scope(at now: MonotonicTime) -> ClaimScope {
        now < restsUntil ? .oldest : .everySecret
    }

    /// Records how long a claim took.
    mutating func claimed(_ scope: ClaimScope, from start: MonotonicTime, to end: MonotonicTime) {
        guard scope == .everySecret else { return }
        restsUntil = end + min(end.since(start) * Bounds.wideClaimRest, Bounds.wideClaimRestMax)
    }
}
