internal import Cryptography

/// The key pair that identifies a relay to push services (RFC 8292).
///
/// Subscriptions are bound to the public key. The private key is never printed.
package final class VAPIDKey: Sendable {
    /// The public key: 65 bytes, uncompressed.
    package let publicKey: [UInt8]
    /// The public key in base64url: the page's `applicationServerKey`, and `k` in the header.
    package let publicKeyText: String
    /// Identifies the key: 16 hexadecimal digits of the public key's SHA-256.
    package let keyID: String
    private let key: P256PrivateKey

    private init(_ key: P256PrivateKey, publicKey: [UInt8]) {
        self.key = key
        self.publicKey = publicKey
        publicKeyText = Base64.urlText(publicKey)
        keyID = SHA256.digest(publicKey).prefix(8).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }

    /// Generates a new key.
    package convenience init() {
        var generator = SystemRandomNumberGenerator()
        self.init(using: &generator)
    }

    /// Generates a new key from a random number generator.
    package convenience init(using generator: inout some RandomNumberGenerator) {
        let scalar = P256.randomScalar(using: &generator)
        guard let key = P256PrivateKey(scalar: scalar), let publicKey = P256.publicKey(of: scalar) else {
            preconditionFailure("libcrypto could not make a key")
        }
        self.init(key, publicKey: publicKey)
    }

    /// Reads a private key: base64url of 32 bytes, as the `web-push` tools print it, or PEM.
    ///
    /// - Throws: ``VAPIDKeyError``, which contains none of the text.
    package convenience init(_ text: String) throws(VAPIDKeyError) {
        let bytes = Array(text.utf8)
        if let scalar = Base64.decode(bytes), scalar.count == P256.scalarBytes {
            guard let key = P256PrivateKey(scalar: scalar), let publicKey = P256.publicKey(of: scalar) else {
                throw .outOfRange
            }
            self.init(key, publicKey: publicKey)
            return
        }
        guard let pem = PEMText.find(in: bytes) else { throw .format }
        let key: P256PrivateKey
        do throws(P256KeyError) {
            key = try P256PrivateKey(pem: pem)
        } catch {
            throw VAPIDKeyError(error)
        }
        guard let publicKey = P256.publicKey(of: key.scalar) else { throw .outOfRange }
        self.init(key, publicKey: publicKey)
    }

    /// The private key in base64url, for storage; never log it.
    package var privateKeyText: String { Base64.urlText(key.scalar) }

    /// Signs with ES256; returns r and s, 64 bytes in total.
    func sign(_ message: [UInt8]) throws(VAPIDTokenError) -> [UInt8] {
        guard let signature = key.sign(message) else { throw .signingFailed }
        return signature
    }
}

extension VAPIDKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Shows only the key's ID.
    package var description: String { "<VAPID key \(keyID)>" }
    /// Shows only the key's ID.
    package var debugDescription: String { description }
    /// A mirror without children.
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

/// Why text can't be used as a VAPID key; descriptions contain none of it.
package enum VAPIDKeyError: Error, Hashable, Sendable, CaseIterable, CustomStringConvertible {
    /// Neither base64url of 32 bytes nor PEM.
    case format
    /// 32 bytes that aren't a private key for the curve.
    case outOfRange
    /// PEM, encrypted with a password.
    case encrypted
    /// PEM of something else, such as a public key.
    case notPrivateKey
    /// PEM with unreadable content.
    case unreadable
    /// Another type of key or another curve.
    case wrongCurve
    /// The private and public halves don't match.
    case inconsistent

    init(_ error: P256KeyError) {
        self =
            switch error {
            case .encrypted: .encrypted
            case .notPrivateKey: .notPrivateKey
            case .unreadable: .unreadable
            case .notEllipticCurve, .wrongCurve: .wrongCurve
            case .inconsistent: .inconsistent
            }
    }

    /// A message for the operator.
    package var description: String {
        switch self {
        case .format: "is neither a private key of 32 bytes in base64url nor a private key in PEM"
        case .outOfRange: "is not a valid P-256 private key"
        case .encrypted: "is encrypted with a password; use a key without one"
        case .notPrivateKey: "is PEM but not a private key"
        case .unreadable: "looks like a private key, but can't be read; was it cut short?"
        case .wrongCurve: "is not a P-256 key, which Web Push requires"
        case .inconsistent: "is damaged: its private and public halves don't match"
        }
    }
}
