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

    /// The time since an earlier moment.
    ///
    /// A date that was set forward or a machine that was suspended counts, since APNs goes by its own date.
    func since(_ earlier: TokenTime) -> Duration {
        max(.seconds(epochSeconds - earlier.epochSeconds), monotonic.since(earlier.monotonic))
    }
}

/// When a new provider token is due: a pure value, told what happened and at what time.
///
/// APNs takes a token for one hour and refuses more than one new token in 20 minutes. Source: Apple, "Establishing a
/// token-based connection to APNs".
struct ProviderTokenSchedule: Sendable {
    /// The age at which a token is replaced.
    static let renewalAge: Duration = .seconds(50 * 60)
    /// The age from which a token is replaced although APNs asked for patience: two minutes before it takes it no more.
    static let renewalAgeMax: Duration = .seconds(58 * 60)
    /// No token is replaced at a younger age, whatever APNs says.
    static let renewalGap: Duration = .seconds(20 * 60)

    /// Counts the tokens; 0 while there is none.
    private(set) var serial: UInt64 = 0
    private var signedAt: TokenTime?
    private var isExpired = false
    private var tooManyAt: TokenTime?

    /// Whether a token must be signed before the next push.
    func needsToken(at now: TokenTime) -> Bool {
        guard let signedAt else { return true }
        let age = now.since(signedAt)
        guard age >= Self.renewalGap else { return false }
        if let tooManyAt, now.since(tooManyAt) < Self.renewalGap { return age >= Self.renewalAgeMax }
        return isExpired || age >= Self.renewalAge
    }

    /// A token was signed.
    mutating func signed(at now: TokenTime) {
        serial += 1
        signedAt = now
        isExpired = false
        tooManyAt = nil
    }

    /// APNs refused a token as expired; whether a push may be tried again with another one.
    ///
    /// Where a renewal isn't due yet, it comes as soon as it is allowed.
    mutating func expired(serial refused: UInt64, at now: TokenTime) -> Bool {
        guard refused == serial else { return refused < serial }
        isExpired = true
        return needsToken(at: now)
    }

    /// APNs complained of too many new tokens: the present one stays for another 20 minutes.
    mutating func tooManyUpdates(at now: TokenTime) { tooManyAt = now }
}
