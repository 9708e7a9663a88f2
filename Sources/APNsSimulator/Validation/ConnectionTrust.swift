/// What APNs remembers about the provider tokens of one connection.
///
/// The first accepted token binds the connection to its team and key; a newer token of that key may replace it, but
/// not sooner than 20 minutes after it.
package struct ConnectionTrust: Sendable {
    /// The ages and intervals that Apple documents for provider tokens.
    package struct Limits: Hashable, Sendable {
        /// A token older than this many seconds is expired.
        package var ageMax: Int64 = 3_600
        /// Seconds that lie at least between two tokens on one connection.
        package var updateInterval: Int64 = 1_200
        /// How many seconds `iat` may lie in the future: the difference that two computers' clocks may have.
        package var clockSkewMax: Int64 = 5

        /// Apple's figures.
        package init() {}
    }

    /// The whole header field that the current token came in.
    private var currentAuthorization: ArraySlice<UInt8> = []
    private var current: ProviderTokenVerifier.VerifiedToken?
    /// When the current token was first used on the connection, in seconds since 1970.
    private var adoptedAt: Int64 = 0

    /// A connection on which nothing was sent yet.
    package init() {}

    /// The token that the connection is bound to; `nil` before the first push with a valid one.
    package var token: ProviderToken? { current?.token }

    /// Judges the `authorization` of a push.
    ///
    /// - Parameters:
    ///   - authorization: The header field's value, `nil` when it was not sent.
    ///   - now: Seconds since 1970.
    /// - Throws: A refusal with status 403, or `TooManyProviderTokenUpdates`.
    package mutating func admit(
        _ authorization: ArraySlice<UInt8>?, to environment: PushEnvironment, now: Int64, limits: Limits,
        verifier: inout ProviderTokenVerifier
    ) throws(Refusal) {
        if let current, let authorization, authorization.equals(currentAuthorization) {
            return try Self.checkAge(of: current.token, now: now, limits: limits)
        }
        let text = try Self.bearerToken(authorization)
        let candidate = try verifier.verify(text).get()
        try Self.checkAge(of: candidate.token, now: now, limits: limits)
        if let required = candidate.environment, required != environment {
            throw Refusal(.badEnvironmentKeyInToken, "the key is for \(required.rawValue) only")
        }
        if let current {
            try Self.checkUpdate(from: current.token, at: adoptedAt, to: candidate.token, now, limits)
        }
        currentAuthorization = Array(authorization ?? [])[...]
        current = candidate
        adoptedAt = now
    }

    private static func bearerToken(_ authorization: ArraySlice<UInt8>?) throws(Refusal) -> ArraySlice<UInt8>
    {
        guard let authorization else { throw Refusal(.missingProviderToken, "no `authorization` header") }
        let scheme = "bearer".utf8
        guard authorization.count >= scheme.count, zip(authorization, scheme).allSatisfy({ $0 | 0x20 == $1 })
        else {
            throw Refusal(.invalidProviderToken, "`authorization` must be `bearer` and a token")
        }
        let rest = authorization.dropFirst(scheme.count)
        guard let first = rest.first else {
            throw Refusal(.missingProviderToken, "`authorization` has no token")
        }
        guard first == UInt8(ascii: " ") else {
            throw Refusal(.invalidProviderToken, "`authorization` must be `bearer` and a token")
        }
        let token = rest.drop { $0 == UInt8(ascii: " ") }
        guard !token.isEmpty else { throw Refusal(.missingProviderToken, "`authorization` has no token") }
        return token
    }

    private static func checkAge(of token: ProviderToken, now: Int64, limits: Limits) throws(Refusal) {
        guard token.issuedAt <= now + limits.clockSkewMax else {
            throw Refusal(.invalidProviderToken, "claim `iat` lies in the future")
        }
        // Written so that no `iat` a client thinks up can overflow.
        guard token.issuedAt >= now - limits.ageMax else {
            throw Refusal(.expiredProviderToken, "the token is older than \(limits.ageMax) seconds")
        }
    }

    private static func checkUpdate(
        from old: ProviderToken, at adopted: Int64, to new: ProviderToken, _ now: Int64, _ limits: Limits
    ) throws(Refusal) {
        guard new.teamID == old.teamID else {
            throw Refusal(.invalidProviderToken, "the connection is bound to another team by its first push")
        }
        guard new.keyID == old.keyID else {
            throw Refusal(.unrelatedKeyIDInToken, "the connection is bound to another key by its first push")
        }
        // A client that opens a connection with a token near its end may renew it soon after: then `iat` tells.
        guard new.issuedAt - old.issuedAt >= limits.updateInterval || now - adopted >= limits.updateInterval
        else {
            throw Refusal(
                .tooManyProviderTokenUpdates,
                "a new token less than \(limits.updateInterval) seconds after the one before")
        }
    }
}
