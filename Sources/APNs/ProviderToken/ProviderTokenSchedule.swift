internal import Glibc
package import Network

/// The time on both clocks: tokens carry the date, and their age is measured on whichever clock advanced more.
package struct TokenTime: Hashable, Sendable {
    /// Seconds since 1970.
    package let epochSeconds: Int64
    /// The monotonic clock, which stops while a machine is suspended.
    package let monotonic: MonotonicTime

    /// Creates a time from both clocks.
    package init(epochSeconds: Int64, monotonic: MonotonicTime) {
        self.epochSeconds = epochSeconds
        self.monotonic = monotonic
    }

    /// The current time.
    package static var current: TokenTime {
        TokenTime(epochSeconds: Int64(time(nil)), monotonic: .current)
    }

    /// The time that has passed since an earlier time.
    ///
    /// Includes time by which the clock was set forward and time for which the machine was suspended, since APNs uses
    /// its own clock.
    func since(_ earlier: TokenTime) -> Duration {
        max(.seconds(epochSeconds - earlier.epochSeconds), monotonic.since(earlier.monotonic))
    }

    /// How far the wall clock was set, forward or back, since an earlier time.
    func clockStep(since earlier: TokenTime) -> Duration {
        let step = .seconds(epochSeconds - earlier.epochSeconds) - monotonic.since(earlier.monotonic)
        return max(step, .zero - step)
    }
}

/// Decides when to sign a new provider token, and with which date: a pure value.
///
/// Tokens are dated at multiples of 50 minutes since 1970, so all relays of a team use the same `iat` at the same time.
/// If APNs refuses a token, this process dates its tokens with its own clock from then on; such tokens are valid even
/// if the clock is off by ten minutes.
///
/// APNs accepts a token for one hour and refuses more than one new token per 20 minutes on a connection. Source: Apple,
/// "Establishing a token-based connection to APNs".
struct ProviderTokenSchedule: Sendable {
    /// The age at which a token is replaced.
    static let renewalAge: Duration = .seconds(50 * 60)
    /// The age at which a token is replaced even after `TooManyProviderTokenUpdates`: two minutes before it expires.
    static let renewalAgeMax: Duration = .seconds(58 * 60)
    /// The minimum age for replacing a refused token, unless it was backdated or the clock was set since it was signed.
    static let renewalGap: Duration = .seconds(20 * 60)
    /// The minimum deviation from the monotonic clock that is taken to mean that the wall clock was set; anything
    /// smaller is drift.
    static let clockStepMin: Duration = .seconds(5)
    /// The maximum number of tokens signed within any ``renewalGap``, however often the clock is set.
    static let signedInGapMax = 4

    /// The number of the current token; 0 if there is none.
    private(set) var serial: UInt64 = 0
    private var signedAt: TokenTime?
    /// How old the current token already was when it was signed.
    private var backdating: Duration = .zero
    private var usesCommonDates = true
    private var isRefused = false
    private var tooManyAt: TokenTime?
    /// When the last tokens were signed; at most ``signedInGapMax`` entries.
    private var signings: [MonotonicTime] = []

    /// Whether to sign a token before the next push.
    func needsToken(at now: TokenTime) -> Bool {
        guard let signedAt else { return true }
        if signings.count == Self.signedInGapMax, let first = signings.first,
            now.monotonic.since(first) < Self.renewalGap
        {
            return false
        }
        let age = now.since(signedAt) + backdating
        if let tooManyAt, now.since(tooManyAt) < Self.renewalGap { return age >= Self.renewalAgeMax }
        // The refused date may come from a wrong clock. A new token has a better date only if the clock has been set
        // since then.
        let wasMisdated = now.clockStep(since: signedAt) >= Self.clockStepMin
        let mayReplace = wasMisdated || backdating > .zero || now.since(signedAt) >= Self.renewalGap
        if isRefused, mayReplace { return true }
        return age >= Self.renewalAge
    }

    /// The `iat` claim for a token signed now, in seconds since 1970.
    func issueDate(at now: TokenTime) -> Int64 {
        guard usesCommonDates else { return now.epochSeconds }
        let interval = Self.renewalAge.components.seconds
        return now.epochSeconds / interval * interval
    }

    /// Whether a token signed now would be too early for connections that carried the previous one.
    func needsNewConnections(at now: TokenTime) -> Bool {
        signings.last.map { now.monotonic.since($0) < Self.renewalGap } ?? false
    }

    /// Records that a token with the date from ``issueDate(at:)`` was signed.
    mutating func signed(at now: TokenTime) {
        serial += 1
        backdating = .seconds(now.epochSeconds - issueDate(at: now))
        signedAt = now
        isRefused = false
        tooManyAt = nil
        signings = signings.suffix(Self.signedInGapMax - 1) + [now.monotonic]
    }

    /// Records that APNs refused a token; returns whether to retry the push with another one.
    ///
    /// If a renewal isn't allowed yet, it happens as soon as it is allowed.
    mutating func refused(serial refused: UInt64, at now: TokenTime) -> Bool {
        guard refused == serial else { return refused < serial }
        isRefused = true
        usesCommonDates = false
        return needsToken(at: now)
    }

    /// Records `TooManyProviderTokenUpdates`: the current token stays in use for another 20 minutes.
    mutating func tooManyUpdates(at now: TokenTime) { tooManyAt = now }
}
