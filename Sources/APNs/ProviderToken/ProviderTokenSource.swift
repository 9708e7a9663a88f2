internal import Network

/// Issues the provider tokens for one key; all connections of the process share the current token.
///
/// Signs on the calling thread, which takes about 20 microseconds every 50 minutes.
package final class ProviderTokenSource: Sendable {
    /// The signing credentials.
    package let credentials: ProviderCredentials
    private let state = Lock(State())

    private struct State: Sendable {
        var schedule = ProviderTokenSchedule()
        var token: ProviderToken?
    }

    /// Creates a source without a token.
    package init(_ credentials: ProviderCredentials) {
        self.credentials = credentials
    }

    /// The current token.
    ///
    /// It changes at multiples of 50 minutes since 1970, and twice within 20 minutes only if it was refused, or in the
    /// first 20 minutes of the process.
    package func token(at now: TokenTime) throws(ProviderTokenError) -> ProviderToken {
        try state.withLock { (state) throws(ProviderTokenError) in
            if let token = state.token, !state.schedule.needsToken(at: now) { return token }
            var token = try credentials.token(
                issuedAt: state.schedule.issueDate(at: now), serial: state.schedule.serial + 1)
            token.needsNewConnections = state.schedule.needsNewConnections(at: now)
            state.schedule.signed(at: now)
            state.token = token
            return token
        }
    }

    /// Reports a refused token: `ExpiredProviderToken`, or `InvalidProviderToken` for a token dated in the future.
    ///
    /// - Returns: Whether ``token(at:)`` returns another token, so that a retry makes sense. Within 20 minutes of the
    ///   last renewal, it does so only if the clock was set or the token was backdated; otherwise a new token follows
    ///   after those 20 minutes.
    package func refused(_ token: ProviderToken, at now: TokenTime) -> Bool {
        state.withLock { $0.schedule.refused(serial: token.serial, at: now) }
    }

    /// Reports `TooManyProviderTokenUpdates`: the current token stays in use for another 20 minutes.
    ///
    /// It is replaced earlier only if it is about to expire.
    package func tooManyUpdates(at now: TokenTime) {
        state.withLock { $0.schedule.tooManyUpdates(at: now) }
    }
}
