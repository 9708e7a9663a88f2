import Cryptography
import Storage

/// The text of an access token: `rt_` and 32 random bytes as base64url.
enum AccessTokenText {
    private static let prefix = "rt_"
    /// The length of the text, in characters.
    static let count = 46

    /// Creates a new token.
    static func make() -> String {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
        return prefix + Base64.urlText(bytes)
    }

    /// The digest under which a token is stored; `nil` if the text isn't in the format of a token.
    ///
    /// It differs from the hash of a secret with the same text.
    static func digest(of text: [UInt8]) -> Digest256? {
        guard text.count == count, text.starts(with: prefix.utf8),
            text.allSatisfy({ byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            })
        else { return nil }
        return Digest256(of: Array("apn-relay access token ".utf8) + text)
    }
}

/// The credential with which a request identifies its tenant.
enum Credential: Sendable {
    case secret(Secret)
    /// An access token, identified by its digest.
    case token(Digest256)
}
