/// The two primitives that sealing needs from the platform.
///
/// CryptoKit provides them on Apple platforms, libcrypto elsewhere. Everything above this protocol is shared.
protocol Ciphers {
    /// HMAC-SHA-256 (RFC 2104): 32 bytes.
    static func authenticationCode(of bytes: [UInt8], key: [UInt8]) -> [UInt8]

    /// AES-256-GCM (NIST SP 800-38D): the ciphertext and then the 16-byte tag; `nil` if the platform fails.
    ///
    /// - Parameters:
    ///   - key: 32 bytes.
    ///   - nonce: 12 bytes, never used twice with a key.
    ///   - context: Associated data, which is authenticated but not part of the result.
    static func seal(_ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], context: [UInt8]) -> [UInt8]?

    /// The plaintext that ``seal(_:key:nonce:context:)`` encrypted; `nil` if anything was changed.
    static func open(_ sealed: [UInt8], key: [UInt8], nonce: [UInt8], context: [UInt8]) -> [UInt8]?
}

/// The sizes that sealing uses with AES-256-GCM, in bytes.
enum CipherSizes {
    static let key = 32
    static let nonce = 12
    static let tag = 16
}
