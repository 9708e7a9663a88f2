import Glibc

/// Which provider tokens are believed.
package enum KeyPolicy: Sendable {
    /// Every token of the right form, whoever signed it.
    case anyKey
    /// Only tokens that one of these keys signed.
    case keys([VerificationKey])
}

/// Checks provider tokens and remembers what came out, so that a token is parsed and verified once, not per push.
package struct ProviderTokenVerifier: Sendable {
    /// Tokens that are remembered; a client has one per key, and hostile input must not fill the memory.
    package static let rememberedMax = 1_024

    private let policy: KeyPolicy
    private var remembered: [[UInt8]: Result<VerifiedToken, Refusal>] = [:]

    /// A token with a right signature (or any, as the policy wants), whatever its age.
    package struct VerifiedToken: Hashable, Sendable {
        package let token: ProviderToken
        /// The only environment that the key may be used in; `nil`: both.
        package let environment: PushEnvironment?
    }

    /// A verifier that has not seen any token.
    package init(_ policy: KeyPolicy) { self.policy = policy }

    /// The token in this text, if its form and its signature are right.
    package mutating func verify(_ text: ArraySlice<UInt8>) -> Result<VerifiedToken, Refusal> {
        let key = Array(text)
        if let known = remembered[key] { return known }
        let result = Result { () throws(Refusal) in try check(text) }
        if remembered.count >= Self.rememberedMax { remembered.removeAll(keepingCapacity: true) }
        remembered[key] = result
        return result
    }

    private func check(_ text: ArraySlice<UInt8>) throws(Refusal) -> VerifiedToken {
        let parsed = try ProviderToken.parse(text)
        guard case .keys(let keys) = policy else {
            return VerifiedToken(token: parsed.token, environment: nil)
        }
        guard let key = keys.first(where: { $0.keyID == parsed.token.keyID }) else {
            throw Refusal(.invalidProviderToken, "no key with the token's `kid` is configured")
        }
        guard key.teamID == parsed.token.teamID else {
            throw Refusal(.invalidProviderToken, "the key `kid` belongs to another team than `iss`")
        }
        guard key.publicKey.verifies(parsed.signature, over: parsed.signedPart) else {
            throw Refusal(.invalidProviderToken, "the signature is not the key's")
        }
        return VerifiedToken(token: parsed.token, environment: key.environment)
    }
}
