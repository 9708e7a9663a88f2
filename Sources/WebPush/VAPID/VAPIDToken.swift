internal import Cryptography
internal import JSON

/// A signed token for one push service (RFC 8292, section 2), hidden from descriptions and mirrors.
struct VAPIDToken: Sendable {
    /// The value of the `Authorization` header.
    let authorization: String
    /// When the token expires, in seconds since 1970.
    let expiry: Int64

    /// How long a token is valid: half of what RFC 8292 allows, since clocks differ.
    static let lifetime: Int64 = 12 * 3_600

    private static let header = Array(#"{"typ":"JWT","alg":"ES256"}"#.utf8)

    /// Signs a token.
    ///
    /// - Parameters:
    ///   - origin: The `aud` claim.
    ///   - now: Seconds since 1970.
    init(origin: String, subject: VAPIDSubject, key: VAPIDKey, now: Int64) throws(VAPIDTokenError) {
        expiry = now + Self.lifetime
        var claims = JSON.Writer(capacity: 160)
        claims.beginObject()
        claims.member("aud", origin)
        claims.member("exp", expiry)
        claims.member("sub", subject.text)
        claims.endObject()
        var token: [UInt8] = []
        Base64.appendURL(Self.header, to: &token)
        token.append(UInt8(ascii: "."))
        Base64.appendURL(claims.finish(), to: &token)
        let signature = try key.sign(token)
        token.append(UInt8(ascii: "."))
        Base64.appendURL(signature, to: &token)
        authorization = "vapid t=\(String(decoding: token, as: UTF8.self)), k=\(key.publicKeyText)"
    }

    /// Whether to keep using the token: at least half of its lifetime is left.
    ///
    /// If more than its whole lifetime is left, the clock was wrong when it was signed.
    func isFresh(at now: Int64) -> Bool {
        (Self.lifetime / 2...Self.lifetime).contains(expiry - now)
    }
}

extension VAPIDToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A constant placeholder.
    var description: String { "<VAPID token>" }
    /// A constant placeholder.
    var debugDescription: String { description }
    /// A mirror without children.
    var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

/// Why a token can't be created.
package enum VAPIDTokenError: Error, Hashable, Sendable, CustomStringConvertible {
    /// OpenSSL failed to sign: out of memory or randomness.
    case signingFailed

    /// A message for the log.
    package var description: String { "cannot sign the VAPID token" }
}
