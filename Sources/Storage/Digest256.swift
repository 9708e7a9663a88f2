internal import COpenSSL

/// A SHA-256 digest, kept in place: 32 bytes without an allocation, compared and hashed as four words.
package struct Digest256: Hashable, Sendable {
    /// How many bytes a digest has.
    package static let byteCount = 32
    /// How many characters its hexadecimal form has.
    package static let hexCount = 64

    // The digest's bytes in their order, each word big-endian, so that words print from the high end.
    let words: SIMD4<UInt64>

    /// The SHA-256 of some bytes.
    package init(of bytes: [UInt8]) {
        unsafe self.init { output in
            unsafe EVP_Digest(bytes, bytes.count, output, nil, SHA256.shared.pointer, nil) == 1
        }
    }

    /// The HMAC-SHA-256 of some bytes under a key (RFC 2104).
    package init(of bytes: [UInt8], authenticatedBy key: [UInt8]) {
        unsafe self.init { output in
            unsafe HMAC(SHA256.shared.pointer, key, Int32(key.count), bytes, bytes.count, output, nil) != nil
        }
    }

    // `compute` writes 32 bytes to where it is told and says whether it could.
    private init(_ compute: (UnsafeMutablePointer<UInt8>?) -> Bool) {
        var raw = SIMD4<UInt64>()
        let done = unsafe withUnsafeMutableBytes(of: &raw) { buffer in
            unsafe compute(buffer.baseAddress?.assumingMemoryBound(to: UInt8.self))
        }
        // Only a machine without memory gets here; going on without a digest would mix tenants.
        precondition(done, "OpenSSL could not compute a digest")
        words = SIMD4(raw[0].bigEndian, raw[1].bigEndian, raw[2].bigEndian, raw[3].bigEndian)
    }

    /// The digest that 64 lower-case hexadecimal characters stand for; nil for anything else.
    package init?(hex: some Sequence<UInt8>) {
        var words = SIMD4<UInt64>()
        var count = 0
        for character in hex {
            guard count < Self.hexCount, let nibble = Self.nibble(of: character) else { return nil }
            words[count / 16] = words[count / 16] << 4 | UInt64(nibble)
            count += 1
        }
        guard count == Self.hexCount else { return nil }
        self.words = words
    }

    /// The 64 lower-case hexadecimal characters.
    package var hex: String {
        unsafe String(unsafeUninitializedCapacity: Self.hexCount) { buffer in
            unsafe write(into: buffer)
            return Self.hexCount
        }
    }

    /// Writes the 64 hexadecimal characters into memory that has room for them, without allocating.
    package func writeHex(into buffer: UnsafeMutableBufferPointer<CChar>) {
        precondition(buffer.count >= Self.hexCount, "no room for a digest's text")
        unsafe buffer.withMemoryRebound(to: UInt8.self) { unsafe write(into: $0) }
    }

    private func write(into buffer: UnsafeMutableBufferPointer<UInt8>) {
        for word in 0..<4 { unsafe Hex.write(words[word], digits: 0..<16, to: buffer, at: 16 * word) }
    }

    private static func nibble(of character: UInt8) -> UInt8? {
        switch character {
        case 0x30...0x39: character - 0x30
        case 0x61...0x66: character - 0x57
        default: nil
        }
    }
}

/// OpenSSL's SHA-256, fetched once: `EVP_sha256()` would look its provider up at each use.
@safe
private struct SHA256: @unchecked Sendable {  // why: an EVP_MD never changes and is never freed here
    static let shared = unsafe SHA256(pointer: EVP_MD_fetch(nil, "SHA256", nil))
    let pointer: OpaquePointer?
}
