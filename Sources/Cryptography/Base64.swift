/// Base64 (RFC 4648).
package enum Base64 {
    private static let urlAlphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// Appends the URL-safe encoding without padding (RFC 7515, section 2).
    package static func appendURL(_ bytes: [UInt8], to output: inout [UInt8]) {
        var index = 0
        while index < bytes.count {
            let left = min(3, bytes.count - index)
            var group: UInt32 = 0
            for offset in 0..<3 { group = group << 8 | (offset < left ? UInt32(bytes[index + offset]) : 0) }
            for digit in 0...left {
                output.append(urlAlphabet[Int(group >> (18 - 6 * UInt32(digit)) & 0x3F)])
            }
            index += 3
        }
    }

    /// The URL-safe encoding without padding (RFC 7515, section 2).
    package static func urlText(_ bytes: [UInt8]) -> String {
        var output: [UInt8] = []
        output.reserveCapacity((bytes.count * 4 + 2) / 3)
        appendURL(bytes, to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    /// Decodes the standard and the URL-safe alphabet, skipping white space; padding is optional.
    ///
    /// Returns `nil` for anything else.
    package static func decode(_ text: [UInt8]) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var group: UInt32 = 0
        var digits = 0
        var isPadded = false
        for byte in text {
            if byte == UInt8(ascii: " ") || 0x09...0x0D ~= byte { continue }
            if byte == UInt8(ascii: "=") {
                isPadded = true
                continue
            }
            guard !isPadded, let digit = digit(byte) else { return nil }
            group = group << 6 | digit
            digits += 1
            guard digits.isMultiple(of: 4) else { continue }
            bytes.append(contentsOf: [UInt8(group >> 16), UInt8(group >> 8 & 0xFF), UInt8(group & 0xFF)])
            group = 0
        }
        switch digits % 4 {
        case 0: break
        case 2: bytes.append(UInt8(group >> 4 & 0xFF))
        case 3: bytes.append(contentsOf: [UInt8(group >> 10 & 0xFF), UInt8(group >> 2 & 0xFF)])
        default: return nil
        }
        return bytes
    }

    private static func digit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
