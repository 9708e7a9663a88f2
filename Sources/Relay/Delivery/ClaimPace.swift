import Network
import Storage

/// How often a claim looks behind the backlogs of secrets: what that costs is bounded, however long they are.
///
/// To find one secret's push behind another's 10,000 the database walks over all of them. So the claims after such a walk
/// take from the oldest rows alone, for a multiple of the time that it took.
struct ClaimPace: Hashable, Sendable {
    private var restsUntil = MonotonicTime(nanoseconds: 0)

    /// How far a claim looks that begins now.
    func scope(at now: MonotonicTime) -> ClaimScope {
        now < restsUntil ? .oldest : .everySecret
    }

    /// Notes how long a claim took.
    mutating func claimed(_ scope: ClaimScope, from start: MonotonicTime, to end: MonotonicTime) {
        guard scope == .everySecret else { return }
        restsUntil = end + min(end.since(start) * Bounds.wideClaimRest, Bounds.wideClaimRestMax)
    }
}
