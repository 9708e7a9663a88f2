/// Eight bytes examined together, the first one lowest.
///
/// A mark is the high bit of a byte. The lowest mark is exact; a borrow can set false marks only above it.
extension UInt64 {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// Marks the bytes that must be escaped in a string: quotes, backslashes, control characters.
    @inline(__always)
    var bytesToEscape: UInt64 {
        let quotes = self ^ (Self.ones &* UInt64(ASCII.quote))
        let backslashes = self ^ (Self.ones &* UInt64(ASCII.backslash))
        let controls = (self &- Self.ones &* UInt64(ASCII.space)) & ~self
        return (controls | ((quotes &- Self.ones) & ~quotes) | ((backslashes &- Self.ones) & ~backslashes))
            & Self.highBits
    }

    /// Marks the bytes that a string parser must examine: ``bytesToEscape`` and all non-ASCII bytes.
    @inline(__always)
    var bytesSpecialInString: UInt64 { bytesToEscape | (self & Self.highBits) }
}
