import Glibc

// Byte comparisons through the C library. The standard library's generic ones take about 20 instructions per byte,
// and the headers of one push have about 500 bytes.

extension ArraySlice<UInt8> {
    /// Whether the bytes equal the text.
    @inline(__always)
    package func equals(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        return unsafe withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return true }
            return unsafe memcmp(start, text.utf8Start, bytes.count) == 0
        }
    }

    /// Whether the bytes are equal.
    @inline(__always)
    package func equals(_ other: ArraySlice<UInt8>) -> Bool {
        guard count == other.count else { return false }
        return unsafe withUnsafeBytes { mine in
            unsafe other.withUnsafeBytes { theirs in
                guard let mine = mine.baseAddress, let start = theirs.baseAddress else { return true }
                return unsafe memcmp(mine, start, theirs.count) == 0
            }
        }
    }

    /// Whether the bytes begin with the text.
    @inline(__always)
    package func begins(with text: StaticString) -> Bool { prefix(text.utf8CodeUnitCount).equals(text) }

    /// Whether the bytes end with the text.
    @inline(__always)
    package func ends(with text: StaticString) -> Bool { suffix(text.utf8CodeUnitCount).equals(text) }

    /// Whether every byte is in the class.
    @inline(__always)
    package func isAll(_ type: ByteClass) -> Bool {
        unsafe withUnsafeBufferPointer { bytes in
            unsafe bytes.allSatisfy { type.contains($0) }
        }
    }
}

/// A precomputed set of bytes; a lookup takes two instructions.
package struct ByteClass: Sendable {
    private let bits: (UInt64, UInt64, UInt64, UInt64)

    /// The bytes for which `isMember` returns true.
    package init(_ isMember: (UInt8) -> Bool) {
        func word(_ base: UInt8) -> UInt64 {
            (0..<64).reduce(0 as UInt64) { isMember(base + $1) ? $0 | 1 << UInt64($1) : $0 }
        }
        bits = (word(0), word(64), word(128), word(192))
    }

    /// Whether the byte is in the set.
    @inline(__always)
    package func contains(_ byte: UInt8) -> Bool {
        let word =
            switch byte >> 6 {
            case 0: bits.0
            case 1: bits.1
            case 2: bits.2
            default: bits.3
            }
        return word >> UInt64(byte & 63) & 1 == 1
    }

    /// `0-9`.
    package static let digits = ByteClass { (0x30...0x39).contains($0) }
    /// The characters of a bundle identifier: letters, digits, hyphens, underscores and dots.
    package static let topic = ByteClass { byte in
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) && byte < 0x80 || byte == 0x2D
            || byte == 0x5F
            || byte == 0x2E
    }
}
