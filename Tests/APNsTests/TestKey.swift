import COpenSSL
import Foundation

struct OpenSSLFailed: Error {}

/// A key generated for one test, with text forms and checks for tests.
final class TestKey {
    enum Kind: String {
        case p256 = "P-256"
        case p384 = "P-384"
        case secp256k1
        case rsa = "RSA"
        case ed25519 = "ED25519"
    }

    private let key: OpaquePointer

    init(_ kind: Kind = .p256) throws {
        let isCurve = kind != .rsa && kind != .ed25519
        let context = EVP_PKEY_CTX_new_from_name(nil, isCurve ? "EC" : kind.rawValue, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var made: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1,
            !isCurve || EVP_PKEY_CTX_set_group_name(context, kind.rawValue) == 1,
            EVP_PKEY_generate(context, &made) == 1, let made
        else { throw OpenSSLFailed() }
        key = made
    }

    deinit { EVP_PKEY_free(key) }

    /// Whether this thread's OpenSSL queue has an error.
    static var isErrorLeftBehind: Bool { ERR_peek_error() != 0 }

    /// PKCS#8, as in a `.p8` file.
    var pem: String {
        get throws { try text { PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) } }
    }

    /// PKCS#8, encrypted with a password.
    var encryptedPEM: String {
        get throws {
            try text { PEM_write_bio_PrivateKey($0, key, EVP_aes_128_cbc(), "password", 8, nil, nil) }
        }
    }

    /// SEC 1, as `openssl ecparam` writes it.
    var traditionalPEM: String {
        get throws { try text { PEM_write_bio_PrivateKey_traditional($0, key, nil, nil, 0, nil, nil) } }
    }

    /// SEC 1, encrypted with a password.
    var encryptedTraditionalPEM: String {
        get throws {
            try text {
                PEM_write_bio_PrivateKey_traditional($0, key, EVP_aes_128_cbc(), "password", 8, nil, nil)
            }
        }
    }

    /// The public half.
    var publicPEM: String {
        get throws { try text { PEM_write_bio_PUBKEY($0, key) } }
    }

    /// The private key in PKCS#8 with the public half of another key.
    func mismatchedPEM(_ other: TestKey) throws -> String {
        let pointBytes = 65
        let der = try Self.der(pem).dropLast(pointBytes) + Self.der(other.pem).suffix(pointBytes)
        return "-----BEGIN PRIVATE KEY-----\n\(der.base64EncodedString())\n-----END PRIVATE KEY-----\n"
    }

    /// Verifies a JOSE signature (r and s, 32 bytes each).
    func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard signature.count == 64 else { return false }
        let parts = ECDSA_SIG_new()
        defer { ECDSA_SIG_free(parts) }
        ECDSA_SIG_set0(
            parts, BN_bin2bn(Array(signature[..<32]), 32, nil), BN_bin2bn(Array(signature[32...]), 32, nil))
        var der: UnsafeMutablePointer<UInt8>?
        let count = i2d_ECDSA_SIG(parts, &der)
        defer { CRYPTO_free(der, #file, #line) }
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
            && EVP_DigestVerify(context, der, Int(count), message, message.count) == 1
    }

    private static func der(_ pem: String) throws -> Data {
        let body = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
        guard let der = Data(base64Encoded: body) else { throw OpenSSLFailed() }
        return der
    }

    private func text(_ write: (OpaquePointer?) -> Int32) throws -> String {
        let bio = BIO_new(BIO_s_mem())
        defer { BIO_free(bio) }
        guard write(bio) == 1 else { throw OpenSSLFailed() }
        var buffer = [UInt8](repeating: 0, count: 8192)
        let count = BIO_read(bio, &buffer, Int32(buffer.count))
        return String(decoding: buffer[..<Int(count)], as: UTF8.self)
    }
}

/// Foundation's standard base64, for comparison.
func base64(_ text: String, wrapped: Bool = false) -> String {
    Data(text.utf8).base64EncodedString(options: wrapped ? .lineLength64Characters : [])
}

/// Decodes URL-safe base64 without padding.
func decodedBase64URL(_ text: some StringProtocol) throws -> [UInt8] {
    let standard = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
    let padding = String(repeating: "=", count: (4 - standard.count % 4) % 4)
    guard let data = Data(base64Encoded: standard + padding) else { throw OpenSSLFailed() }
    return Array(data)
}
