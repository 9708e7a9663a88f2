internal import COpenSSL

/// A P-256 private key for signing.
///
/// It is never printed.
@safe package final class P256PrivateKey: @unchecked Sendable {  // why: signing only reads the key
    private let key: OpaquePointer

    private init(owning key: OpaquePointer) { unsafe self.key = key }

    /// Reads an unencrypted key in PEM: PKCS #8 or SEC 1.
    ///
    /// - Throws: ``P256KeyError``, which contains no part of the text.
    package convenience init(pem: [UInt8]) throws(P256KeyError) {
        guard !pem.holds(Array("BEGIN ENCRYPTED".utf8)), !pem.holds(Array(",ENCRYPTED".utf8)) else {
            throw .encrypted
        }
        guard pem.holds(Array("PRIVATE KEY-----".utf8)) else { throw .notPrivateKey }
        // An error left in the thread's OpenSSL queue would be attributed to its next TLS connection.
        defer { ERR_clear_error() }
        guard let key = unsafe Self.read(pem) else { throw .unreadable }
        do throws(P256KeyError) {
            unsafe try Self.check(key)
        } catch {
            unsafe EVP_PKEY_free(key)
            throw error
        }
        unsafe self.init(owning: key)
    }

    /// Creates a key from a private scalar; `nil` unless the scalar is in range (``P256/isScalar(_:)``).
    package convenience init?(scalar: [UInt8]) {
        defer { ERR_clear_error() }
        guard let point = P256.publicKey(of: scalar), let key = unsafe Self.make(scalar, point) else {
            return nil
        }
        unsafe self.init(owning: key)
    }

    deinit { unsafe EVP_PKEY_free(key) }

    /// The private scalar, 32 bytes, big-endian.
    ///
    /// For storing the key; never log it.
    package var scalar: [UInt8] {
        var number: OpaquePointer?
        defer { unsafe BN_clear_free(number) }
        var bytes = [UInt8](repeating: 0, count: P256.scalarBytes)
        let isRead =
            unsafe EVP_PKEY_get_bn_param(key, "priv", &number) == 1
            && BN_bn2binpad(number, &bytes, Int32(bytes.count)) == bytes.count
        precondition(isRead, "a private key without a scalar")
        return bytes
    }

    /// Signs with ES256 (RFC 7518, section 3.4); returns r and s, 64 bytes in total, or `nil` if OpenSSL fails.
    package func sign(_ message: [UInt8]) -> [UInt8]? {
        derSignature(message).flatMap(Self.joseSignature)
    }

    /// Whether a test signature verifies with the public half.
    package func signsAndVerifies() -> Bool {
        let message = Array("apn-relay".utf8)
        defer { ERR_clear_error() }
        guard let der = derSignature(message), let context = unsafe EVP_MD_CTX_new() else { return false }
        defer { unsafe EVP_MD_CTX_free(context) }
        return unsafe EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
            && EVP_DigestVerify(context, der, der.count, message, message.count) == 1
    }

    /// Signs and returns OpenSSL's DER signature.
    private func derSignature(_ message: [UInt8]) -> [UInt8]? {
        defer { ERR_clear_error() }
        guard let context = unsafe EVP_MD_CTX_new() else { return nil }
        defer { unsafe EVP_MD_CTX_free(context) }
        var der = [UInt8](repeating: 0, count: Self.derBytesMax)
        var count = der.count
        guard unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
            unsafe EVP_DigestSign(context, &der, &count, message, message.count) == 1
        else { return nil }
        return Array(der[..<count])
    }

    /// The longest DER signature, in bytes: two 33-byte integers with their headers, and the sequence's header.
    private static let derBytesMax = 72
    /// The size of r and of s, in bytes.
    private static let integerBytes = 32

    /// Converts OpenSSL's DER signature to JOSE's r and s.
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
            // Without a callback, OpenSSL would prompt for a password at the terminal.
            return unsafe PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in -1 }, nil)
        }
    }

    private static func check(_ key: OpaquePointer) throws(P256KeyError) {
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

    /// Reads the key's DER form (RFC 5915), which is constant except for the scalar and the point.
    private static func make(_ scalar: [UInt8], _ point: [UInt8]) -> OpaquePointer? {
        let der =
            [0x30, 0x77, 0x02, 0x01, 0x01, 0x04, 0x20] + scalar
            + [0xA0, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
            + [0xA1, 0x44, 0x03, 0x42, 0x00] + point
        return unsafe der.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return unsafe d2i_AutoPrivateKey(nil, &start, buffer.count)
        }
    }
}

/// Why the text isn't a P-256 private key.
package enum P256KeyError: Error, Hashable, Sendable, CaseIterable {
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
}
