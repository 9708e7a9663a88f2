#if canImport(CryptoKit)
internal import CryptoKit
internal import Foundation

/// The platform's ciphers: CryptoKit.
enum SystemCiphers: Ciphers {
    static func authenticationCode(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: bytes, using: SymmetricKey(data: key)))
    }

    static func seal(_ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], context: [UInt8]) -> [UInt8]? {
        guard let nonce = try? AES.GCM.Nonce(data: nonce),
            let box = try? AES.GCM.seal(
                plaintext, using: SymmetricKey(data: key), nonce: nonce, authenticating: context)
        else { return nil }
        return Array(box.ciphertext) + Array(box.tag)
    }

    static func open(_ sealed: [UInt8], key: [UInt8], nonce: [UInt8], context: [UInt8]) -> [UInt8]? {
        guard sealed.count >= CipherSizes.tag, let nonce = try? AES.GCM.Nonce(data: nonce),
            let box = try? AES.GCM.SealedBox(
                nonce: nonce, ciphertext: sealed.dropLast(CipherSizes.tag),
                tag: sealed.suffix(CipherSizes.tag)),
            let plaintext = try? AES.GCM.open(box, using: SymmetricKey(data: key), authenticating: context)
        else { return nil }
        return Array(plaintext)
    }
}
#endif
