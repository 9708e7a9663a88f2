internal import Network

/// The provider tokens of one key: one at a time, for every connection of the process.
///
/// Tokens are signed on the thread that asks, which takes some 20 microseconds once in 50 minutes.
package final class ProviderTokenSource: Sendable {
    /// What the tokens are signed with.
    package let credentials: ProviderCredentials
    private let state = Lock(State())

    private struct State: Sendable {
        var schedule = ProviderTokenSchedule()
        var token: ProviderToken?
    }

    /// A source without a token yet.
    package init(_ credentials: ProviderCredentials) {
        self.credentials = credentials
    }

    /// The token to send with a push now.
    ///
    /// It changes every 50 minutes, and twice within 20 only after it was refused and the clock was set.
    package func token(at now: TokenTime) throws(ProviderTokenError) -> ProviderToken {
        try state.withLock { (state) throws(ProviderTokenError) in
            if let token = state.token, !state.schedule.needsToken(at: now) { return token }
            var token = try credentials.token(issuedAt: now.epochSeconds, serial: state.schedule.serial + 1)
            token.needsNewConnections = state.schedule.needsNewConnections(at: now)
            state.schedule.signed(at: now)
            state.token = token
            return token
        }
    }

    /// APNs refused this token: `ExpiredProviderToken`, or `InvalidProviderToken`, which a token from the future gets.
    ///
    /// - Returns: Whether ``token(at:)`` has another one, so that trying once more makes sense. Within 20 minutes of the
    ///   last renewal that is so only if the clock was set; else a new one comes as soon as these are over.
    package func refused(_ token: ProviderToken, at now: TokenTime) -> Bool {
        state.withLock { $0.schedule.refused(serial: token.serial, at: now) }
    }

    /// APNs answered `TooManyProviderTokenUpdates`: the present token stays in use for another 20 minutes.
    ///
    /// It is replaced earlier only where it would get too old for APNs.
    package func tooManyUpdates(at now: TokenTime) {
        state.withLock { $0.schedule.tooManyUpdates(at: now) }
    }
}
