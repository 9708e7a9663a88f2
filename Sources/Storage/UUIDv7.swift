/// A version 7 UUID (RFC 9562, 5.7): 48 bits of milliseconds, then randomness, so that ids sort by time.
package struct UUIDv7: Hashable, Sendable, CustomStringConvertible {
    private let high: UInt64
    private let low: UInt64

    /// Makes one for a moment with 74 random bits.
    package init(at now: EpochMilliseconds, using generator: inout some RandomNumberGenerator) {
        let milliseconds = UInt64(truncatingIfNeeded: now) & 0xFFFF_FFFF_FFFF
        high = milliseconds << 16 | 0x7000 | generator.next() >> 52
        low = 0x8000_0000_0000_0000 | generator.next() >> 2
    }

    /// Makes the one that follows another of the same source: within a millisecond it sorts behind it.
    ///
    /// Rows with such ids go to the end of an index and not anywhere in it. Each is a random amount of up to 32 bits
    /// behind the one before (RFC 9562, 6.2, method 2), so that no two sources go in step.
    package init(
        at now: EpochMilliseconds, after previous: UUIDv7?, using generator: inout some RandomNumberGenerator
    ) {
        let fresh = UUIDv7(at: now, using: &generator)
        guard let previous, previous.high >> 16 == fresh.high >> 16 else {
            // The highest random bit is room to count on.
            high = fresh.high
            low = fresh.low & ~(1 << 61)
            return
        }
        high = previous.high
        low = previous.low + 1 + fresh.low & 0xFFFF_FFFF
    }

    /// The canonical form: 36 characters, lower case, with hyphens.
    package var text: String {
        unsafe String(unsafeUninitializedCapacity: 36) { buffer in
            unsafe Hex.write(high, digits: 0..<8, to: buffer, at: 0)
            unsafe buffer[8] = 0x2D
            unsafe Hex.write(high, digits: 8..<12, to: buffer, at: 9)
            unsafe buffer[13] = 0x2D
            unsafe Hex.write(high, digits: 12..<16, to: buffer, at: 14)
            unsafe buffer[18] = 0x2D
            unsafe Hex.write(low, digits: 0..<4, to: buffer, at: 19)
            unsafe buffer[23] = 0x2D
            unsafe Hex.write(low, digits: 4..<16, to: buffer, at: 24)
            return 36
        }
    }

    /// The canonical form.
    package var description: String { text }
}
