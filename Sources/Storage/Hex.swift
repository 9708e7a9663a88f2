/// Lower-case hexadecimal digits.
enum Hex {
    /// Writes some of a word's sixteen digits; digit 0 is the most significant.
    @inline(__always)
    static func write(
        _ word: UInt64, digits: Range<Int>, to buffer: UnsafeMutableBufferPointer<UInt8>, at position: Int
    ) {
        for index in digits {
            let nibble = UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * index)) & 0x0F
            unsafe buffer[position + index - digits.lowerBound] = nibble < 10 ? 0x30 + nibble : 0x57 + nibble
        }
    }
}
