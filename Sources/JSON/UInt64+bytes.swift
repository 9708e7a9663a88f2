/// Eight bytes looked at together; the first one is the lowest.
///
/// A mark is the high bit of a byte. The lowest mark is exact, a borrow can only set wrong ones above it.
extension UInt64 {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// Marks what can't stand in a string as it is: quotes, backslashes, controls.
    @inline(__always)
    var bytesToEscape: UInt64 {
        let quotes = self ^ (Self.ones &* UInt64(ASCII.quote))
        let backslashes = self ^ (Self.ones &* UInt64(ASCII.backslash))
        let controls = (self &- Self.ones &* UInt64(ASCII.space)) & ~self
        return (controls | ((quotes &- Self.ones) & ~quotes) | ((backslashes &- Self.ones) & ~backslashes))
            & Self.highBits
    }

    /// Marks what reading a string must look at: what ``bytesToEscape`` marks, and all beyond ASCII.
    @inline(__always)
    var bytesSpecialInString: UInt64 { bytesToEscape | (self & Self.highBits) }
}
