/// HKDF-SHA-256 (RFC 5869).
enum KeyDerivation {
    /// Derives a key.
    ///
    /// - Parameters:
    ///   - input: The input keying material.
    ///   - salt: May be empty.
    ///   - info: Identifies the key's purpose.
    ///   - count: The key's length in bytes, at most 8,160.
    static func key(from input: [UInt8], salt: [UInt8], info: [UInt8], count: Int) -> [UInt8] {
        let extracted = SystemCiphers.authenticationCode(
            of: input, key: salt.isEmpty ? [UInt8](repeating: 0, count: 32) : salt)
        var output: [UInt8] = []
        var block: [UInt8] = []
        var number: UInt8 = 1
        while output.count < count {
            block = SystemCiphers.authenticationCode(of: block + info + [number], key: extracted)
            output += block
            number &+= 1
        }
        return Array(output.prefix(count))
    }
}
