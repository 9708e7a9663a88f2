internal import Glibc
package import Network

/// A moment on both clocks: tokens carry the date, their age is counted on whichever clock moved more.
package struct TokenTime: Hashable, Sendable {
    /// Seconds since 1970.
    package let epochSeconds: Int64
    /// The monotonic clock, which stands still while a machine is suspended.
    package let monotonic: MonotonicTime

    /// A moment on both clocks.
    package init(epochSeconds: Int64, monotonic: MonotonicTime) {
        self.epochSeconds = epochSeconds
        self.monotonic = monotonic
    }

    /// The present moment.
    package static var current: TokenTime {
        TokenTime(epochSeconds: Int64(time(nil)), monotonic: .current)
    }

    /// The time since an earlier moment.
    ///
    /// A date that was set forward or a machine that was suspended counts, since APNs goes by its own date.
    func since(_ earlier: TokenTime) -> Duration {
        max(.seconds(epochSeconds - earlier.epochSeconds), monotonic.since(earlier.monotonic))
    }

    /// How far the wall clock was set, forward or back, since an earlier moment.
    func clockStep(since earlier: TokenTime) -> Duration {
        let step = .seconds(epochSeconds - earlier.epochSeconds) - monotonic.since(earlier.monotonic)
        return max(step, .zero - step)
    }
}

/// When a new provider token is due: a pure value, told what happened and at what time.
///
/// APNs takes a token for one hour and refuses more than one new token in 20 minutes on a connection. Source: Apple,
/// "Establishing a token-based connection to APNs".
struct ProviderTokenSchedule: Sendable {
    /// The age at which a token is replaced.
    static let renewalAge: Duration = .seconds(50 * 60)
    /// The age from which a token is replaced although APNs asked for patience: two minutes before it takes it no more.
    static let renewalAgeMax: Duration = .seconds(58 * 60)
    /// No token is replaced at a younger age, unless it was refused and the clock has been set since it was signed.
    static let renewalGap: Duration = .seconds(20 * 60)
    /// The clock was set if it differs by so much from the monotonic clock; smaller differences are drift.
    static let clockStepMin: Duration = .seconds(5)
    /// Tokens signed within any ``renewalGap`` of the monotonic clock, however often the clock is set.
    static let signedInGapMax = 4

    /// Counts the tokens; 0 while there is none.
    private(set) var serial: UInt64 = 0
    private var signedAt: TokenTime?
    private var isRefused = false
    private var tooManyAt: TokenTime?
    /// When the last tokens were signed, at most ``signedInGapMax`` of them.
    private var signings: [MonotonicTime] = []

    /// Whether a token must be signed before the next push.
    func needsToken(at now: TokenTime) -> Bool {
        guard let signedAt else { return true }
        if signings.count == Self.signedInGapMax, let first = signings.first,
            now.monotonic.since(first) < Self.renewalGap
        {
            return false
        }
        let age = now.since(signedAt)
        if let tooManyAt, now.since(tooManyAt) < Self.renewalGap { return age >= Self.renewalAgeMax }
        // A date that APNs refuses may come from a clock that was wrong. Only if the clock has been set since does
        // another token have a better one.
        let wasMisdated = now.clockStep(since: signedAt) >= Self.clockStepMin
        if isRefused, wasMisdated || age >= Self.renewalGap { return true }
        return age >= Self.renewalAge
    }

    /// Whether a token that is signed now follows the one before too soon for connections that have carried that one.
    func needsNewConnections(at now: TokenTime) -> Bool {
        signings.last.map { now.monotonic.since($0) < Self.renewalGap } ?? false
    }

    /// A token was signed.
    mutating func signed(at now: TokenTime) {
        serial += 1
        signedAt = now
        isRefused = false
        tooManyAt = nil
        signings = signings.suffix(Self.signedInGapMax - 1) + [now.monotonic]
    }

    /// APNs refused a token; whether a push may be tried again with another one.
    ///
    /// Where a renewal isn't due yet, it comes as soon as it is allowed.
    mutating func refused(serial refused: UInt64, at now: TokenTime) -> Bool {
        guard refused == serial else { return refused < serial }
        isRefused = true
        return needsToken(at: now)
    }

    /// APNs complained of too many new tokens: the present one stays for another 20 minutes.
    mutating func tooManyUpdates(at now: TokenTime) { tooManyAt = now }
}
