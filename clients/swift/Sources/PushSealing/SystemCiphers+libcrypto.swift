#if !canImport(CryptoKit)
internal import COpenSSL

/// The platform's ciphers: OpenSSL's libcrypto.
enum SystemCiphers: Ciphers {
    static func authenticationCode(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 32)
        let isDone = unsafe HMAC(EVP_sha256(), key, Int32(key.count), bytes, bytes.count, &code, nil) != nil
        // This fails only if memory is exhausted; an unkeyed code must never be used.
        precondition(isDone, "libcrypto could not compute an HMAC")
        return code
    }

    static func seal(_ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], context: [UInt8]) -> [UInt8]? {
        guard let cipher = Cipher(key: key, nonce: nonce, isSealing: true) else { return nil }
        return cipher.seal(plaintext, context)
    }

    static func open(_ sealed: [UInt8], key: [UInt8], nonce: [UInt8], context: [UInt8]) -> [UInt8]? {
        guard sealed.count >= CipherSizes.tag, let cipher = Cipher(key: key, nonce: nonce, isSealing: false)
        else { return nil }
        return cipher.open(
            Array(sealed.dropLast(CipherSizes.tag)), tag: Array(sealed.suffix(CipherSizes.tag)), context)
    }
}

/// One use of AES-256-GCM.
///
/// Owns libcrypto's context.
@safe
private final class Cipher {
    private let handle: OpaquePointer

    /// Creates a cipher for one message; `nil` if a length is wrong or memory is exhausted.
    ///
    /// Twelve bytes are GCM's default nonce length.
    init?(key: [UInt8], nonce: [UInt8], isSealing: Bool) {
        guard key.count == CipherSizes.key, nonce.count == CipherSizes.nonce,
            let handle = unsafe EVP_CIPHER_CTX_new()
        else { return nil }
        unsafe self.handle = handle
        guard unsafe EVP_CipherInit_ex(handle, EVP_aes_256_gcm(), nil, key, nonce, isSealing ? 1 : 0) == 1
        else { return nil }
    }

    deinit { unsafe EVP_CIPHER_CTX_free(handle) }

    func seal(_ plaintext: [UInt8], _ context: [UInt8]) -> [UInt8]? {
        var tag = [UInt8](repeating: 0, count: CipherSizes.tag)
        guard let ciphertext = run(plaintext, context), isFinal(),
            unsafe EVP_CIPHER_CTX_ctrl(handle, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), &tag) == 1
        else { return nil }
        return ciphertext + tag
    }

    func open(_ ciphertext: [UInt8], tag: [UInt8], _ context: [UInt8]) -> [UInt8]? {
        var tag = tag
        guard let plaintext = run(ciphertext, context),
            unsafe EVP_CIPHER_CTX_ctrl(handle, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag) == 1, isFinal()
        else { return nil }
        return plaintext
    }

    private func run(_ input: [UInt8], _ context: [UInt8]) -> [UInt8]? {
        var output = [UInt8](repeating: 0, count: input.count)
        var count: Int32 = 0
        guard unsafe EVP_CipherUpdate(handle, nil, &count, context, Int32(context.count)) == 1,
            input.isEmpty
                || (unsafe EVP_CipherUpdate(handle, &output, &count, input, Int32(input.count))) == 1
        else { return nil }
        return output
    }

    // Checks the tag when opening; GCM has no more output.
    private func isFinal() -> Bool {
        var rest = [UInt8](repeating: 0, count: CipherSizes.tag)
        var count: Int32 = 0
        return unsafe EVP_CipherFinal_ex(handle, &rest, &count) == 1
    }
}
#endif
