/// The provider token that a connection is bound to.
///
/// The first accepted token binds the connection to its team and key. A newer token signed with the same key may
/// replace it after 20 minutes at the earliest.
package struct ConnectionTrust: Sendable {
    /// Apple's documented ages and intervals for provider tokens.
    package struct Limits: Hashable, Sendable {
        /// The maximum age of a token in seconds.
        package var ageMax: Int64 = 3_600
        /// The minimum interval between two tokens on one connection, in seconds.
        package var updateInterval: Int64 = 1_200
        /// How far in the future `iat` may be, in seconds, to allow for clock skew.
        package var clockSkewMax: Int64 = 5

        /// Apple's values.
        package init() {}
    }

    /// The full `authorization` value that carried the current token.
    private var currentAuthorization: ArraySlice<UInt8> = []
    private var current: ProviderTokenVerifier.VerifiedToken?
    /// When the connection first used the current token, in seconds since 1970.
    private var adoptedAt: Int64 = 0

    /// The state of a connection that has had no push yet.
    package init() {}

    /// The token that the connection is bound to; `nil` before the first push with a valid token.
    package var token: ProviderToken? { current?.token }

    /// Checks the `authorization` of a push.
    ///
    /// - Parameters:
    ///   - authorization: The header's value; `nil` if it was not sent.
    ///   - now: Seconds since 1970.
    /// - Throws: A refusal with status 403, or `TooManyProviderTokenUpdates`.
    package mutating func admit(
        _ authorization: ArraySlice<UInt8>?, to environment: PushEnvironment, now: Int64, limits: Limits,
        verifier: inout ProviderTokenVerifier
    ) throws(PushRefusal) {
        if let current, let authorization, authorization.equals(currentAuthorization) {
            return try Self.checkAge(of: current.token, now: now, limits: limits)
        }
        let text = try Self.bearerToken(authorization)
        let candidate = try verifier.verify(text).get()
        try Self.checkAge(of: candidate.token, now: now, limits: limits)
        if let required = candidate.environment, required != environment {
            throw PushRefusal(.badEnvironmentKeyInToken, "the key is only for \(required.rawValue)")
        }
        if let current {
            try Self.checkUpdate(from: current.token, at: adoptedAt, to: candidate.token, now, limits)
        }
        currentAuthorization = Array(authorization ?? [])[...]
        current = candidate
        adoptedAt = now
    }

    private static func bearerToken(_ authorization: ArraySlice<UInt8>?) throws(PushRefusal) -> ArraySlice<
        UInt8
    > {
        guard let authorization else { throw PushRefusal(.missingProviderToken, "no `authorization` header") }
        let scheme = "bearer".utf8
        guard authorization.count >= scheme.count, zip(authorization, scheme).allSatisfy({ $0 | 0x20 == $1 })
        else {
            throw PushRefusal(.invalidProviderToken, "`authorization` must be `bearer` followed by a token")
        }
        let rest = authorization.dropFirst(scheme.count)
        guard let first = rest.first else {
            throw PushRefusal(.missingProviderToken, "`authorization` has no token")
        }
        guard first == UInt8(ascii: " ") else {
            throw PushRefusal(.invalidProviderToken, "`authorization` must be `bearer` followed by a token")
        }
        let token = rest.drop { $0 == UInt8(ascii: " ") }
        guard !token.isEmpty else { throw PushRefusal(.missingProviderToken, "`authorization` has no token") }
        return token
    }

    private static func checkAge(of token: ProviderToken, now: Int64, limits: Limits) throws(PushRefusal) {
        guard token.issuedAt <= now + limits.clockSkewMax else {
            throw PushRefusal(.invalidProviderToken, "claim `iat` is in the future")
        }
        // Written so that no `iat` can cause an overflow.
        guard token.issuedAt >= now - limits.ageMax else {
            throw PushRefusal(.expiredProviderToken, "the token is older than \(limits.ageMax) seconds")
        }
    }

    private static func checkUpdate(
        from old: ProviderToken, at adopted: Int64, to new: ProviderToken, _ now: Int64, _ limits: Limits
    ) throws(PushRefusal) {
        guard new.teamID == old.teamID else {
            throw PushRefusal(.invalidProviderToken, "the connection's first push bound it to another team")
        }
        guard new.keyID == old.keyID else {
            throw PushRefusal(.unrelatedKeyIDInToken, "the connection's first push bound it to another key")
        }
        // A client may open a connection with a nearly expired token and renew it soon after, so `iat` counts too.
        guard new.issuedAt - old.issuedAt >= limits.updateInterval || now - adopted >= limits.updateInterval
        else {
            throw PushRefusal(
                .tooManyProviderTokenUpdates,
                "a new token less than \(limits.updateInterval) seconds after the previous one")
        }
    }
}
