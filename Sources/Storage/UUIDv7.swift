/// A version 7 UUID (RFC 9562, 5.7): 48 bits of milliseconds, then randomness, so that ids sort by time.
package struct UUIDv7: Hashable, Sendable, CustomStringConvertible {
    private let high: UInt64
    private let low: UInt64

    /// Makes one for a moment with 74 random bits.
    package init(at now: EpochMilliseconds, using generator: inout some RandomNumberGenerator) {
        let milliseconds = UInt64(truncatingIfNeeded: now) & 0xFFFF_FFFF_FFFF
        high = milliseconds << 16 | 0x7000 | UInt64.random(in: 0...0x0FFF, using: &generator)
        low = 0x8000_0000_0000_0000 | UInt64.random(in: 0...0x3FFF_FFFF_FFFF_FFFF, using: &generator)
    }

    /// The canonical form: 36 characters, lower case, with hyphens.
    package var text: String {
        unsafe String(unsafeUninitializedCapacity: 36) { buffer in
            var position = 0
            for index in 0..<32 {
                if index == 8 || index == 12 || index == 16 || index == 20 {
                    unsafe buffer[position] = 0x2D
                    position += 1
                }
                let word = index < 16 ? high : low
                let nibble = UInt8(truncatingIfNeeded: word >> (60 - 4 * UInt64(index % 16))) & 0x0F
                unsafe buffer[position] = nibble < 10 ? 0x30 + nibble : 0x57 + nibble
                position += 1
            }
            return position
        }
    }

    /// The canonical form.
    package var description: String { text }
}
