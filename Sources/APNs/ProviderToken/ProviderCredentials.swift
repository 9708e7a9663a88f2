internal import Cryptography
internal import JSON

/// An operator's APNs credentials: team ID, key ID and private key.
///
/// Source: Apple, "Establishing a token-based connection to APNs".
package struct ProviderCredentials: Sendable {
    /// The `iss` claim.
    package let teamID: String
    /// The `kid` header parameter.
    package let keyID: String
    let key: SigningKey

    /// The length of team and key IDs.
    package static let identifierCount = 10

    /// Validates all three parts.
    ///
    /// - Throws: ``ProviderCredentialProblems`` with all invalid parts, so that one message can list them.
    package init(teamID: String, keyID: String, key: KeyText) throws(ProviderCredentialProblems) {
        var problems: [ProviderCredentialProblem] = []
        if !Self.isIdentifier(teamID) { problems.append(.teamID) }
        if !Self.isIdentifier(keyID) { problems.append(.keyID) }
        var signingKey: SigningKey?
        do throws(SigningKeyError) {
            signingKey = try SigningKey(key)
        } catch {
            problems.append(.key(error))
        }
        guard problems.isEmpty, let signingKey else { throw ProviderCredentialProblems(all: problems) }
        self.teamID = teamID
        self.keyID = keyID
        self.key = signingKey
    }

    /// Whether text is a well-formed team or key ID: 10 characters of `A-Z 0-9`.
    package static func isIdentifier(_ text: String) -> Bool {
        text.utf8.count == identifierCount
            && text.utf8.allSatisfy { byte in
                byte &- UInt8(ascii: "A") < 26 || byte &- UInt8(ascii: "0") < 10
            }
    }

    /// Whether a signature by the private key verifies with its public half.
    package var canSign: Bool { key.signsAndVerifies() }

    /// Signs a provider token.
    ///
    /// - Parameter issuedAt: The `iat` claim, in seconds since 1970.
    func token(issuedAt: Int64, serial: UInt64) throws(ProviderTokenError) -> ProviderToken {
        var signed: [UInt8] = []
        Base64.appendURL(header, to: &signed)
        signed.append(UInt8(ascii: "."))
        Base64.appendURL(claims(issuedAt: issuedAt), to: &signed)
        let signature = try key.sign(signed)
        var authorization = Array("bearer ".utf8)
        authorization.reserveCapacity(authorization.count + signed.count + 1 + 86)
        authorization += signed
        authorization.append(UInt8(ascii: "."))
        Base64.appendURL(signature, to: &authorization)
        return ProviderToken(serial: serial, authorization: authorization)
    }

    private var header: [UInt8] {
        var writer = JSON.Writer(capacity: 40)
        writer.beginObject()
        writer.member("alg", "ES256")
        writer.member("kid", keyID)
        writer.endObject()
        return writer.finish()
    }

    private func claims(issuedAt: Int64) -> [UInt8] {
        var writer = JSON.Writer(capacity: 40)
        writer.beginObject()
        writer.member("iss", teamID)
        writer.member("iat", issuedAt)
        writer.endObject()
        return writer.finish()
    }
}

/// A problem with an operator's credentials.
package enum ProviderCredentialProblem: Hashable, Sendable, CustomStringConvertible {
    /// The team ID isn't 10 characters of `A-Z 0-9`.
    case teamID
    /// The key ID isn't 10 characters of `A-Z 0-9`.
    case keyID
    /// The key can't sign for APNs.
    case key(SigningKeyError)

    /// A message to follow the name of the setting.
    package var description: String {
        switch self {
        case .teamID, .keyID:
            "must be \(ProviderCredentials.identifierCount) characters of A-Z and 0-9"
        case .key(let error): error.description
        }
    }
}

/// All problems with an operator's credentials; never empty.
package struct ProviderCredentialProblems: Error, Hashable, Sendable {
    /// The problems, in the order team ID, key ID, key.
    package let all: [ProviderCredentialProblem]
}
