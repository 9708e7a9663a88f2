import Delays
import Programs
import Storage

/// When to retry a push that APNs couldn't accept: bounded exponential back-off with full jitter.
///
/// Full jitter (a random part of the whole delay) spreads simultaneous failures best: AWS Architecture Blog,
/// "Exponential Backoff and Jitter".
struct RetrySchedule: Hashable, Sendable {
    /// The maximum delay; APNs may ask for a longer one.
    var delayMax: Duration = .seconds(600)

    /// The base delay after the first failure; it doubles with each subsequent failure.
    static func delayMin(after cause: OutcomePolicy.RetryLater.Cause) -> Duration {
        switch cause {
        // The cause may be just this relay's connection, which often recovers quickly.
        case .unreachable: .seconds(1)
        case .server: .seconds(2)
        // APNs received too many requests for this device or from this key; retrying early makes it worse.
        case .tooMany: .seconds(5)
        // Someone must fix the cause, or has just done so.
        case .token: .seconds(5)
        }
    }

    /// When to retry: at the latest when the push expires, because its end must be recorded then.
    ///
    /// - Parameters:
    ///   - attempts: How many times the push has been sent, including this time.
    ///   - random: At least 0 and below 1.
    func due(
        after retry: OutcomePolicy.RetryLater, attempts: Int, at now: EpochMilliseconds,
        expiresAt: EpochMilliseconds, random: Double
    ) -> EpochMilliseconds {
        let backOff = BackOff(from: Self.delayMin(after: retry.cause), to: delayMax)
        let longest = Double(backOff.delay(after: attempts).inMilliseconds)
        // Rounded up, so that a push isn't due again at the instant at which it failed.
        var delay = EpochMilliseconds((random * longest).rounded(.up))
        if let after = retry.after {
            // Spreads the retries after the delay that APNs asked for.
            let spread = random * Double(backOff.least.inMilliseconds)
            delay = max(delay, EpochMilliseconds(after) * 1000 + EpochMilliseconds(spread))
        }
        return min(now + delay, expiresAt)
    }
}
