internal import Cryptography

/// The P-256 private key that signs provider tokens.
///
/// It can't be exported or printed.
package final class SigningKey: Sendable {
    private let key: P256PrivateKey

    /// Reads a key in Apple's form: PKCS#8 in PEM (a `.p8` file).
    ///
    /// - Throws: ``SigningKeyError``, which contains none of the text.
    package init(_ text: KeyText) throws(SigningKeyError) {
        guard let pem = text.pem else { throw .notPEM }
        do throws(P256KeyError) {
            key = try P256PrivateKey(pem: pem)
        } catch {
            throw SigningKeyError(error)
        }
    }

    /// Whether a test signature verifies with the public half.
    package func signsAndVerifies() -> Bool { key.signsAndVerifies() }

    /// Signs with ES256 (RFC 7518, section 3.4); returns r and s, 64 bytes in total.
    func sign(_ message: [UInt8]) throws(ProviderTokenError) -> [UInt8] {
        guard let signature = key.sign(message) else { throw .signingFailed }
        return signature
    }
}

/// Why text can't be used as an APNs signing key; descriptions contain none of it.
package enum SigningKeyError: Error, Hashable, Sendable, CaseIterable, CustomStringConvertible {
    /// Neither PEM nor base64 of PEM.
    case notPEM
    /// Encrypted with a password.
    case encrypted
    /// PEM of something else, such as a certificate or a public key.
    case notPrivateKey
    /// PEM with unreadable content.
    case unreadable
    /// Another type of key, such as RSA.
    case notEllipticCurve
    /// A key on a curve other than P-256.
    case wrongCurve
    /// The key's private and public halves don't match.
    case inconsistent

    init(_ error: P256KeyError) {
        self =
            switch error {
            case .encrypted: .encrypted
            case .notPrivateKey: .notPrivateKey
            case .unreadable: .unreadable
            case .notEllipticCurve: .notEllipticCurve
            case .wrongCurve: .wrongCurve
            case .inconsistent: .inconsistent
            }
    }

    /// A message for the operator.
    package var description: String {
        switch self {
        case .notPEM:
            "is neither the text of a .p8 file (-----BEGIN PRIVATE KEY-----) nor base64 of it"
        case .encrypted: "is encrypted with a password; APNs keys have none"
        case .notPrivateKey: "is PEM but not a private key"
        case .unreadable: "looks like a private key, but can't be read; was it cut short?"
        case .notEllipticCurve: "is not an elliptic-curve key, which APNs requires"
        case .wrongCurve: "is on another curve; APNs requires P-256"
        case .inconsistent: "is damaged: its private and public halves don't match"
        }
    }
}

/// Why a provider token can't be created.
package enum ProviderTokenError: Error, Hashable, Sendable, CustomStringConvertible {
    /// OpenSSL failed to sign: out of memory or randomness.
    case signingFailed

    /// A message for the log.
    package var description: String { "cannot sign the APNs provider token" }
}
