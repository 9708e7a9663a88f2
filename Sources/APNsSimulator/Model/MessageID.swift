/// A UUID in the canonical form of `apns-id`: lower-case hexadecimal, grouped 8-4-4-4-12 (RFC 9562 section 4).
package struct MessageID: Hashable, Sendable {
    package let high: UInt64
    package let low: UInt64

    /// The length of the canonical text in bytes.
    package static let textLength = 36

    /// The identifier with these 128 bits.
    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// A random identifier (version 4).
    package init(using generator: inout some RandomNumberGenerator) {
        high = (generator.next() & ~0xF000) | 0x4000
        low = (generator.next() & ~(0b11 << 62)) | (0b10 << 62)
    }

    /// Parses the canonical text; `nil` for anything else, including upper-case letters.
    package init?(canonical text: ArraySlice<UInt8>) {
        guard text.count == Self.textLength else { return nil }
        var halves: (UInt64, UInt64) = (0, 0)
        let isGood = unsafe text.withUnsafeBufferPointer { bytes in
            var digits = 0
            for offset in 0..<Self.textLength {
                let byte = unsafe bytes[offset]
                if Self.isHyphenPlace(offset) {
                    guard byte == UInt8(ascii: "-") else { return false }
                    continue
                }
                guard let value = Hexadecimal.lowercaseValue(byte) else { return false }
                if digits == 16 { (halves.0, halves.1) = (halves.1, 0) }
                halves.1 = halves.1 << 4 | UInt64(value)
                digits += 1
            }
            return true
        }
        guard isGood else { return nil }
        (high, low) = halves
    }

    /// The canonical text.
    package var text: [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: Self.textLength) { buffer, count in
            var (half, digits) = (high, 0)
            for offset in 0..<Self.textLength {
                guard !Self.isHyphenPlace(offset) else {
                    unsafe buffer[offset] = UInt8(ascii: "-")
                    continue
                }
                if digits == 16 { half = low }
                unsafe buffer[offset] = Hexadecimal.digit(UInt8(truncatingIfNeeded: half >> 60))
                half <<= 4
                digits += 1
            }
            count = Self.textLength
        }
    }

    @inline(__always)
    private static func isHyphenPlace(_ offset: Int) -> Bool {
        offset == 8 || offset == 13 || offset == 18 || offset == 23
    }
}

extension MessageID: CustomStringConvertible {
    /// The canonical text.
    package var description: String {
        String(decoding: text, as: UTF8.self)
    }
}
