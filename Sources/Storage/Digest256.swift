internal import COpenSSL

/// A SHA-256 digest, stored inline: 32 bytes without an allocation, compared and hashed as four words.
package struct Digest256: Hashable, Comparable, Sendable {
    /// The number of bytes in a digest.
    package static let byteCount = 32
    /// The number of characters in a digest's hexadecimal form.
    package static let hexCount = 64

    // The digest's bytes in order; each word is big-endian, so that its most significant digits are printed first.
    let words: Words256

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

    // `compute` writes 32 bytes at the pointer and returns whether it succeeded.
    private init(_ compute: (UnsafeMutablePointer<UInt8>?) -> Bool) {
        words = unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.byteCount) { bytes in
            // This fails only if memory runs out; continuing without a digest would mix up tenants.
            precondition(unsafe compute(bytes.baseAddress), "OpenSSL could not compute a digest")
            let raw = UnsafeRawBufferPointer(bytes)
            return Words256 { word in
                UInt64(bigEndian: unsafe raw.loadUnaligned(fromByteOffset: 8 * word, as: UInt64.self))
            }
        }
    }

    /// Parses 64 lower-case hexadecimal characters; nil for anything else.
    package init?(hex: some Sequence<UInt8>) {
        var words = Words256()
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

    /// Compares the bytes in order; the hexadecimal forms sort the same way.
    package static func < (left: Digest256, right: Digest256) -> Bool { left.words < right.words }

    private func write(into buffer: UnsafeMutableBufferPointer<UInt8>) {
        for word in 0..<Words256.count {
            unsafe Hex.write(words[word], digits: 0..<16, to: buffer, at: 16 * word)
        }
    }

    private static func nibble(of character: UInt8) -> UInt8? {
        switch character {
        case 0x30...0x39: character - 0x30
        case 0x61...0x66: character - 0x57
        default: nil
        }
    }
}

/// Four 64-bit words: a digest, or a sum of digests.
///
/// Not `SIMD4<UInt64>`, which is aligned to 32 bytes: async functions in Swift 6.3 support only 16
/// (docs/design/compiler.md).
struct Words256: Hashable, Comparable, Sendable {
    static let count = 4

    private var first: UInt64 = 0
    private var second: UInt64 = 0
    private var third: UInt64 = 0
    private var fourth: UInt64 = 0

    /// Four zeros.
    init() {}

    /// Creates a value from the four words that `word` returns for 0 to 3.
    init(_ word: (Int) -> UInt64) {
        first = word(0)
        second = word(1)
        third = word(2)
        fourth = word(3)
    }

    subscript(index: Int) -> UInt64 {
        get {
            switch index {
            case 0: first
            case 1: second
            case 2: third
            default: fourth
            }
        }
        set {
            switch index {
            case 0: first = newValue
            case 1: second = newValue
            case 2: third = newValue
            default: fourth = newValue
            }
        }
    }

    static func < (left: Words256, right: Words256) -> Bool {
        (left.first, left.second, left.third, left.fourth)
            < (right.first, right.second, right.third, right.fourth)
    }

    /// Adds the values word by word, each modulo 2^64.
    static func &+= (sum: inout Words256, other: Words256) {
        for word in 0..<count { sum[word] &+= other[word] }
    }
}

/// OpenSSL's SHA-256, fetched once: `EVP_sha256()` would look up its provider on each use.
@safe
private struct SHA256: @unchecked Sendable {  // why: an EVP_MD never changes and is never freed here
    static let shared = unsafe SHA256(pointer: EVP_MD_fetch(nil, "SHA256", nil))
    let pointer: OpaquePointer?
}
