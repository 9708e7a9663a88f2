internal import COpenSSL

/// A P-256 private key for signing.
///
/// It can't be exported or printed.
@safe package final class SigningKey: @unchecked Sendable {  // why: signing only reads the key
    private let key: OpaquePointer

    /// Reads a key in Apple's form: PKCS#8 in PEM (a `.p8` file).
    ///
    /// - Throws: ``SigningKeyError``, which contains nothing of the text.
    package init(_ text: KeyText) throws(SigningKeyError) {
        guard let pem = text.pem else { throw .notPEM }
        guard !pem.holds(Array("BEGIN ENCRYPTED".utf8)), !pem.holds(Array(",ENCRYPTED".utf8)) else {
            throw .encrypted
        }
        guard pem.holds(Array("PRIVATE KEY-----".utf8)) else { throw .notPrivateKey }
        // An error left in the thread's OpenSSL queue would be attributed to its next TLS connection.
        defer { ERR_clear_error() }
        guard let key = unsafe Self.read(pem) else { throw .unreadable }
        do throws(SigningKeyError) {
            unsafe try Self.check(key)
        } catch {
            unsafe EVP_PKEY_free(key)
            throw error
        }
        unsafe self.key = key
    }

    deinit { unsafe EVP_PKEY_free(key) }

    /// Whether a signature verifies with the public half.
    package func signsAndVerifies() -> Bool {
        let message = Array("apn-relay".utf8)
        defer { ERR_clear_error() }
        guard let der = try? derSignature(message), let context = unsafe EVP_MD_CTX_new() else {
            return false
        }
        defer { unsafe EVP_MD_CTX_free(context) }
        return unsafe EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
            && EVP_DigestVerify(context, der, der.count, message, message.count) == 1
    }

    /// Signs with ES256 (RFC 7518, section 3.4): r and s, 64 bytes in total.
    func sign(_ message: [UInt8]) throws(ProviderTokenError) -> [UInt8] {
        guard let signature = Self.joseSignature(try derSignature(message)) else { throw .signingFailed }
        return signature
    }

    /// Signs and returns OpenSSL's DER form.
    private func derSignature(_ message: [UInt8]) throws(ProviderTokenError) -> [UInt8] {
        defer { ERR_clear_error() }
        guard let context = unsafe EVP_MD_CTX_new() else { throw .signingFailed }
        defer { unsafe EVP_MD_CTX_free(context) }
        var der = [UInt8](repeating: 0, count: Self.derBytesMax)
        var count = der.count
        guard unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
            unsafe EVP_DigestSign(context, &der, &count, message, message.count) == 1
        else { throw .signingFailed }
        return Array(der[..<count])
    }

    /// The longest DER signature: two integers of 33 bytes with their headers and the sequence's.
    private static let derBytesMax = 72
    /// The size of r and of s.
    private static let integerBytes = 32

    /// Converts OpenSSL's DER to JOSE's r and s.
    private static func joseSignature(_ der: [UInt8]) -> [UInt8]? {
        let signature = unsafe der.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return unsafe d2i_ECDSA_SIG(nil, &start, buffer.count)
        }
        guard let signature = unsafe signature else { return nil }
        defer { unsafe ECDSA_SIG_free(signature) }
        var r = [UInt8](repeating: 0, count: integerBytes)
        var s = r
        guard unsafe BN_bn2binpad(ECDSA_SIG_get0_r(signature), &r, Int32(integerBytes)) == integerBytes,
            unsafe BN_bn2binpad(ECDSA_SIG_get0_s(signature), &s, Int32(integerBytes)) == integerBytes
        else { return nil }
        return r + s
    }

    private static func read(_ pem: [UInt8]) -> OpaquePointer? {
        unsafe pem.withUnsafeBytes { buffer in
            guard let bio = unsafe BIO_new_mem_buf(buffer.baseAddress, Int32(clamping: buffer.count)) else {
                return nil
            }
            defer { unsafe BIO_free(bio) }
            // Without a callback OpenSSL would prompt for a password at the terminal.
            return unsafe PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in -1 }, nil)
        }
    }

    private static func check(_ key: OpaquePointer) throws(SigningKeyError) {
        guard unsafe EVP_PKEY_get_base_id(key) == EVP_PKEY_EC else { throw .notEllipticCurve }
        var name = [CChar](repeating: 0, count: 64)
        var count = 0
        guard unsafe EVP_PKEY_get_group_name(key, &name, name.count, &count) == 1,
            name[..<count].elementsEqual("prime256v1".utf8.map(CChar.init))
        else { throw .wrongCurve }
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else { throw .unreadable }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        guard unsafe EVP_PKEY_check(context) == 1 else { throw .inconsistent }
    }
}

/// Why a text isn't usable as an APNs signing key; descriptions contain nothing of the text.
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

    /// A message for the operator.
    package var description: String {
        switch self {
        case .notPEM:
            "is neither the text of a .p8 file (-----BEGIN PRIVATE KEY-----) nor base64 of it"
        case .encrypted: "is encrypted with a password; APNs keys have none"
        case .notPrivateKey: "is PEM but not a private key"
        case .unreadable: "looks like a private key, but can't be read; was it cut short?"
        case .notEllipticCurve: "is a private key of another kind; APNs needs an elliptic-curve key"
        case .wrongCurve: "is on another curve; APNs needs P-256"
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
