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
    /// It changes every 50 minutes, never twice within 20.
    package func token(at now: TokenTime) throws(ProviderTokenError) -> ProviderToken {
        try state.withLock { (state) throws(ProviderTokenError) in
            if let token = state.token, !state.schedule.needsToken(at: now) { return token }
            let token = try credentials.token(issuedAt: now.epochSeconds, serial: state.schedule.serial + 1)
            state.schedule.signed(at: now)
            state.token = token
            return token
        }
    }

    /// APNs answered `ExpiredProviderToken` to a push with this token.
    ///
    /// - Returns: Whether ``token(at:)`` has another one, so that trying once more makes sense. Not so within 20 minutes
    ///   of the last renewal; then a new one comes as soon as these are over.
    package func expired(_ token: ProviderToken, at now: TokenTime) -> Bool {
        state.withLock { $0.schedule.expired(serial: token.serial, at: now) }
    }

    /// APNs answered `TooManyProviderTokenUpdates`: the present token stays in use for another 20 minutes.
    ///
    /// It is replaced earlier only where it would get too old for APNs.
    package func tooManyUpdates(at now: TokenTime) {
        state.withLock { $0.schedule.tooManyUpdates(at: now) }
    }
}
