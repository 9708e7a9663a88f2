import Storage

/// When a push that APNs could not take is sent again: exponential back-off with full jitter, up to a bound.
///
/// Full jitter (a random part of the whole delay) spreads what failed together best: AWS Architecture Blog,
/// "Exponential Backoff and Jitter".
struct RetrySchedule: Hashable, Sendable {
    /// The longest delay that is chosen here; APNs may ask for a longer one.
    var delayMax: Duration = .seconds(600)

    /// The delay that the first failure's jitter is taken from; each further one doubles it.
    static func delayMin(after trouble: OutcomePolicy.RetryLater.Trouble) -> Duration {
        switch trouble {
        // It may be this relay's connection alone, and is often over in a moment.
        case .unreachable: .seconds(1)
        case .server: .seconds(2)
        // APNs has had too much for this device or from this key; to ask soon makes it worse.
        case .tooMany: .seconds(5)
        // A person has to do something, or has just done it.
        case .token: .seconds(5)
        }
    }

    /// When to send again; never later than the push's end, when its end is to be written down.
    ///
    /// - Parameters:
    ///   - attempts: how often it was sent, this time included.
    ///   - random: from 0 up to 1.
    func due(
        after retry: OutcomePolicy.RetryLater, attempts: Int, at now: EpochMilliseconds,
        expiresAt: EpochMilliseconds, random: Double
    ) -> EpochMilliseconds {
        let base = Double(Self.delayMin(after: retry.trouble).inMilliseconds)
        let exponent = min(max(attempts, 1) - 1, Self.doublingsMax)
        let longest = min(base * Double(1 << exponent), Double(delayMax.inMilliseconds))
        var delay = EpochMilliseconds(random * longest)
        if let after = retry.after {
            // Not all at once when the time that APNs asked for is over.
            delay = max(delay, EpochMilliseconds(after) * 1000 + EpochMilliseconds(random * base))
        }
        return min(now + delay, expiresAt)
    }

    /// More would be past any bound.
    private static let doublingsMax = 30
}
