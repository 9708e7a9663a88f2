import JSON
import PushSealing

/// A well-formed provider authentication token (JWT, RFC 7519), regardless of its signature.
///
/// Source: Apple, "Establishing a token-based connection to APNs": header `alg` ES256 and `kid` of 10 characters,
/// claims `iss` of 10 characters and `iat` in seconds.
package struct ProviderToken: Hashable, Sendable {
    /// The key's identifier, `kid`.
    package let keyID: String
    /// The developer team, `iss`.
    package let teamID: String
    /// When the token was issued, `iat`, in seconds since 1970.
    package let issuedAt: Int64

    /// A parsed token whose signature is not verified yet.
    package struct Unverified: Sendable {
        package let token: ProviderToken
        /// The signed text: encoded header and claims with the dot between them.
        package let signedPart: ArraySlice<UInt8>
        /// The signature's two integers r and s, 32 bytes each (RFC 7518 section 3.4).
        package let signature: [UInt8]
    }

    /// The length of key IDs and team IDs in characters.
    package static let identifierLength = 10
    /// The longest token in bytes.
    package static let bytesMax = 2_048
    /// The size of an ES256 signature in bytes.
    package static let signatureLength = 64

    /// Creates a token from its claims.
    package init(keyID: String, teamID: String, issuedAt: Int64) {
        self.keyID = keyID
        self.teamID = teamID
        self.issuedAt = issuedAt
    }

    /// Parses `header.claims.signature`.
    ///
    /// - Throws: `InvalidProviderToken` with a detail.
    package static func parse(_ text: ArraySlice<UInt8>) throws(PushRefusal) -> Unverified {
        guard text.count <= bytesMax else { throw invalid("the token is longer than \(bytesMax) bytes") }
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw invalid("a JWT has three parts separated by dots") }
        let header = try object(parts[0], "header")
        let claims = try object(parts[1], "claims")
        guard let signature = Base64URL.decode(String(decoding: parts[2], as: UTF8.self)) else {
            throw invalid("the signature is not base64url without padding")
        }
        guard signature.count == signatureLength else {
            throw invalid("an ES256 signature has 64 bytes (r and s, not DER), not \(signature.count)")
        }
        guard header["alg"]?.string == "ES256" else { throw invalid("header `alg` must be \"ES256\"") }
        let token = ProviderToken(
            keyID: try identifier(header["kid"], "header `kid`"),
            teamID: try identifier(claims["iss"], "claim `iss`"),
            issuedAt: try time(claims["iat"]))
        return Unverified(
            token: token, signedPart: text[parts[0].startIndex..<parts[1].endIndex], signature: signature)
    }

    private static func object(_ part: ArraySlice<UInt8>, _ name: String) throws(PushRefusal) -> JSON.Object {
        guard let bytes = Base64URL.decode(String(decoding: part, as: UTF8.self)) else {
            throw invalid("the \(name) is not base64url without padding")
        }
        guard let object = (try? JSON.parse(bytes, maxBytes: bytesMax))?.object else {
            throw invalid("the \(name) is not a JSON object")
        }
        return object
    }

    private static func identifier(_ value: JSON.Value?, _ name: String) throws(PushRefusal) -> String {
        guard let text = value?.string, isIdentifier(text) else {
            throw invalid("\(name) must be 10 uppercase letters and digits")
        }
        return text
    }

    /// Whether the text is a valid key ID or team ID: 10 uppercase letters and digits.
    package static func isIdentifier(_ text: String) -> Bool {
        text.utf8.count == identifierLength
            && text.utf8.allSatisfy { byte in
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            }
    }

    private static func time(_ value: JSON.Value?) throws(PushRefusal) -> Int64 {
        guard let seconds = value?.int else {
            throw invalid("claim `iat` must be an integer number of seconds since 1970")
        }
        return Int64(seconds)
    }

    private static func invalid(_ detail: String) -> PushRefusal {
        PushRefusal(.invalidProviderToken, detail)
    }
}
