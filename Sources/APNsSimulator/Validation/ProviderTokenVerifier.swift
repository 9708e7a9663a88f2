import Glibc

/// Which provider tokens are accepted.
package enum KeyPolicy: Sendable {
    /// Any well-formed token, whatever its signature.
    case anyKey
    /// Only tokens signed with one of these keys.
    case keys([VerificationKey])
}

/// Verifies provider tokens and caches the results, so that each token is verified once instead of once per push.
package struct ProviderTokenVerifier: Sendable {
    /// The maximum number of cached tokens, which bounds memory use under hostile input.
    package static let rememberedMax = 1_024

    private let policy: KeyPolicy
    private var remembered: [[UInt8]: Result<VerifiedToken, PushRefusal>] = [:]

    /// A token whose signature is valid (or unchecked under ``KeyPolicy/anyKey``), whatever its age.
    package struct VerifiedToken: Hashable, Sendable {
        package let token: ProviderToken
        /// The only environment that the key is valid for; `nil`: both.
        package let environment: PushEnvironment?
    }

    /// Creates a verifier with an empty cache.
    package init(_ policy: KeyPolicy) { self.policy = policy }

    /// Parses and verifies a token.
    package mutating func verify(_ text: ArraySlice<UInt8>) -> Result<VerifiedToken, PushRefusal> {
        let key = Array(text)
        if let known = remembered[key] { return known }
        let result = Result { () throws(PushRefusal) in try check(text) }
        if remembered.count >= Self.rememberedMax { remembered.removeAll(keepingCapacity: true) }
        remembered[key] = result
        return result
    }

    private func check(_ text: ArraySlice<UInt8>) throws(PushRefusal) -> VerifiedToken {
        let parsed = try ProviderToken.parse(text)
        guard case .keys(let keys) = policy else {
            return VerifiedToken(token: parsed.token, environment: nil)
        }
        guard let key = keys.first(where: { $0.keyID == parsed.token.keyID }) else {
            throw PushRefusal(.invalidProviderToken, "no key with the token's `kid` is configured")
        }
        guard key.teamID == parsed.token.teamID else {
            throw PushRefusal(.invalidProviderToken, "the key `kid` does not belong to the team `iss`")
        }
        guard key.publicKey.verifies(parsed.signature, over: parsed.signedPart) else {
            throw PushRefusal(.invalidProviderToken, "the signature does not match the key")
        }
        return VerifiedToken(token: parsed.token, environment: key.environment)
    }
}
