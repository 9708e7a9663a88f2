internal import COpenSSL

/// AES-128-GCM (NIST SP 800-38D) without associated data.
package enum AES128GCM {
    /// The size of a key, in bytes.
    package static let keyBytes = 16
    /// The size of a nonce, in bytes.
    package static let nonceBytes = 12
    /// The size of a tag, in bytes.
    package static let tagBytes = 16

    /// Appends the ciphertext of `plaintext`, then its tag; false if OpenSSL fails.
    package static func seal(
        _ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], to output: inout [UInt8]
    ) -> Bool {
        precondition(key.count == keyBytes && nonce.count == nonceBytes)
        defer { ERR_clear_error() }
        guard let context = unsafe EVP_CIPHER_CTX_new() else { return false }
        defer { unsafe EVP_CIPHER_CTX_free(context) }
        // Twelve bytes are GCM's default nonce length.
        guard unsafe EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), nil, key, nonce) == 1 else {
            return false
        }
        let start = output.count
        output.append(contentsOf: repeatElement(0, count: plaintext.count + tagBytes))
        return unsafe output.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return false }
            var (count, rest): (Int32, Int32) = (0, 0)
            let tag = unsafe base + start + plaintext.count
            return unsafe EVP_EncryptUpdate(
                context, base + start, &count, plaintext, Int32(plaintext.count)) == 1
                && EVP_EncryptFinal_ex(context, tag, &rest) == 1
                && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tagBytes), tag) == 1
        }
    }

    /// Decrypts a ciphertext that is followed by its tag; `nil` if it isn't authentic.
    package static func open(_ sealed: [UInt8], key: [UInt8], nonce: [UInt8]) -> [UInt8]? {
        precondition(key.count == keyBytes && nonce.count == nonceBytes)
        guard sealed.count >= tagBytes else { return nil }
        defer { ERR_clear_error() }
        guard let context = unsafe EVP_CIPHER_CTX_new() else { return nil }
        defer { unsafe EVP_CIPHER_CTX_free(context) }
        let ciphertext = Array(sealed.dropLast(tagBytes))
        var tag = Array(sealed.suffix(tagBytes))
        // The cipher writes as many bytes as it reads; the rest is room for its final block, which is empty.
        var plaintext = [UInt8](repeating: 0, count: ciphertext.count + tagBytes)
        var (count, rest): (Int32, Int32) = (0, 0)
        guard unsafe EVP_DecryptInit_ex(context, EVP_aes_128_gcm(), nil, key, nonce) == 1,
            unsafe EVP_DecryptUpdate(context, &plaintext, &count, ciphertext, Int32(ciphertext.count)) == 1,
            unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tagBytes), &tag) == 1,
            unsafe EVP_DecryptFinal_ex(context, &plaintext, &rest) == 1
        else { return nil }
        return Array(plaintext.prefix(Int(count)))
    }
}
