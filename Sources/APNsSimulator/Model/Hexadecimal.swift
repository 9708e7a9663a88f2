/// Hexadecimal digits, byte by byte.
package enum Hexadecimal {
    /// The value of `0-9` and `a-f`; `nil` for any other byte.
    @inline(__always)
    package static func lowercaseValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    /// Whether the byte is a hexadecimal digit, upper or lower case.
    @inline(__always)
    package static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    /// Whether all bytes are hexadecimal digits.
    package static func isAllDigits(_ text: ArraySlice<UInt8>) -> Bool {
        // Branch-free, because it runs for every push: a token has 64 digits.
        unsafe text.withUnsafeBufferPointer { bytes in
            var others: UInt8 = 0
            for index in 0..<bytes.count {
                let byte = unsafe bytes[index]
                let isDigit: UInt8 = byte &- 0x30 < 10 ? 1 : 0
                let isLetter: UInt8 = (byte | 0x20) &- 0x61 < 6 ? 1 : 0
                others |= (isDigit | isLetter) ^ 1
            }
            return others == 0
        }
    }

    /// Whether the digits include upper-case letters.
    package static func hasCapitals(_ text: ArraySlice<UInt8>) -> Bool {
        unsafe text.withUnsafeBufferPointer { bytes in
            var capitals: UInt8 = 0
            for index in 0..<bytes.count { capitals |= unsafe bytes[index] &- 0x41 < 6 ? 1 : 0 }
            return capitals != 0
        }
    }

    /// The lower-case digit for the low four bits.
    @inline(__always)
    package static func digit(_ value: UInt8) -> UInt8 {
        let value = value & 0xF
        return value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    /// Encodes bytes as lower-case digits.
    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: bytes.flatMap { [digit($0 >> 4), digit($0)] }, as: UTF8.self)
    }
}
