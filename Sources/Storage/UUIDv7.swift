/// A version 7 UUID (RFC 9562, 5.7): 48 bits of milliseconds, then randomness, so that IDs sort by time.
package struct UUIDv7: Hashable, Sendable, CustomStringConvertible {
    private let high: UInt64
    private let low: UInt64

    /// Creates an ID for a time, with 74 random bits.
    package init(at now: EpochMilliseconds, using generator: inout some RandomNumberGenerator) {
        let milliseconds = UInt64(truncatingIfNeeded: now) & 0xFFFF_FFFF_FFFF
        high = milliseconds << 16 | 0x7000 | generator.next() >> 52
        low = 0x8000_0000_0000_0000 | generator.next() >> 2
    }

    /// Creates the ID that follows `previous` from the same source; within a millisecond, it sorts after `previous`.
    ///
    /// Rows with such IDs go to the end of an index, not into the middle. Each ID exceeds the previous one by a random
    /// amount of up to 32 bits (RFC 9562, 6.2, method 2), so that two sources don't produce the same sequence.
    package init(
        at now: EpochMilliseconds, after previous: UUIDv7?, using generator: inout some RandomNumberGenerator
    ) {
        let fresh = UUIDv7(at: now, using: &generator)
        guard let previous, previous.high >> 16 == fresh.high >> 16 else {
            // The highest random bit is cleared to leave room for increments.
            high = fresh.high
            low = fresh.low & ~(1 << 61)
            return
        }
        high = previous.high
        low = previous.low + 1 + fresh.low & 0xFFFF_FFFF
    }

    /// Parses the canonical form; nil for anything else, such as capital letters or another version.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 36, [8, 13, 18, 23].allSatisfy({ bytes[$0] == UInt8(ascii: "-") }) else {
            return nil
        }
        var words: [UInt64] = [0, 0]
        var digits = 0
        for (index, byte) in bytes.enumerated() where ![8, 13, 18, 23].contains(index) {
            let digit: UInt8
            switch byte {
            case 0x30...0x39: digit = byte - 0x30
            case 0x61...0x66: digit = byte - 0x57
            default: return nil
            }
            words[digits / 16] = words[digits / 16] << 4 | UInt64(digit)
            digits += 1
        }
        (high, low) = (words[0], words[1])
        guard high >> 12 & 0xF == 7, low >> 62 == 2 else { return nil }
    }

    /// The time for which the ID was created, in milliseconds since 1970.
    package var milliseconds: EpochMilliseconds { EpochMilliseconds(high >> 16) }

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

extension UUIDv7: Comparable {
    /// Orders by time, then by the random bits, in the same order as the canonical forms.
    package static func < (left: UUIDv7, right: UUIDv7) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}
