import Network

/// Apps whose provider token APNs currently rejects: only one stored push at a time is sent, as a probe.
///
/// Otherwise a full queue would be rejected push by push, and APNs closes connections that have many rejections. Each
/// app is judged separately in each environment, because a key may be valid for one app and not for another.
struct RefusedTokens {
    private struct Refusal {
        /// No push is sent before this time.
        var restsUntil: MonotonicTime
        /// Whether a probe is in flight.
        var isAsking = false
    }

    private var refusals: [APNsHealth.Target: Refusal] = [:]

    /// Whether a push to this app should be held back because it would be rejected.
    func spares(_ target: APNsHealth.Target, at now: MonotonicTime) -> Bool {
        guard let refusal = refusals[target] else { return false }
        return refusal.isAsking || now < refusal.restsUntil
    }

    /// Records that a push to an app was sent.
    mutating func sent(to target: APNsHealth.Target) {
        refusals[target]?.isAsking = true
    }

    /// Records the response to a push to an app.
    mutating func answered(
        _ target: APNsHealth.Target, _ answer: ConcurrencyLimiter.Answer, at now: MonotonicTime
    ) {
        switch answer {
        case .ended: refusals[target] = nil
        case .putOff, .none: refusals[target]?.isAsking = false
        case .tokenRefused:
            refusals = refusals.filter { now.since($1.restsUntil) < Bounds.retryWindowMemory }
            refusals[target] = Refusal(restsUntil: now + Bounds.tokenRefusedRest)
        }
    }
}
