internal import JSON

/// What an operator has of Apple to send pushes with: a team, a key's identifier and the key.
///
/// Source: Apple, "Establishing a token-based connection to APNs".
package struct ProviderCredentials: Sendable {
    /// The claim `iss`.
    package let teamID: String
    /// The header parameter `kid`.
    package let keyID: String
    let key: SigningKey

    /// How long team and key identifiers are.
    package static let identifierCount = 10

    /// Checks all three parts.
    ///
    /// - Throws: ``ProviderCredentialProblems`` with every part that is wrong, so that one message can name them all.
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

    /// Whether a text has the form of a team or key identifier: 10 of `A-Z 0-9`.
    package static func isIdentifier(_ text: String) -> Bool {
        text.utf8.count == identifierCount
            && text.utf8.allSatisfy { byte in
                byte &- UInt8(ascii: "A") < 26 || byte &- UInt8(ascii: "0") < 10
            }
    }

    /// Whether what the key signs is verified by its public half.
    package var canSign: Bool { key.signsAndVerifies() }

    /// Signs a provider token.
    ///
    /// - Parameter issuedAt: The claim `iat`, seconds since 1970.
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

/// One thing that is wrong with an operator's credentials.
package enum ProviderCredentialProblem: Hashable, Sendable, CustomStringConvertible {
    /// The team's identifier isn't 10 of `A-Z 0-9`.
    case teamID
    /// The key's identifier isn't 10 of `A-Z 0-9`.
    case keyID
    /// The key can't sign for APNs.
    case key(SigningKeyError)

    /// What is wrong, to be put behind the name of the setting.
    package var description: String {
        switch self {
        case .teamID, .keyID:
            "must be \(ProviderCredentials.identifierCount) characters of A-Z and 0-9"
        case .key(let error): error.description
        }
    }
}

/// All that is wrong with an operator's credentials; never empty.
package struct ProviderCredentialProblems: Error, Hashable, Sendable {
    /// The problems, in the order of team, key identifier, key.
    package let all: [ProviderCredentialProblem]
}
