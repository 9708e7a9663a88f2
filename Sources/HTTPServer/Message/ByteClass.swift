/// Character classes from RFC 9110, RFC 9112 and RFC 3986.
///
/// The ASCII sets are bitmaps in constants, so a lookup accesses no memory. A test spells out the sets.
enum ByteClass {
    /// A `tchar` of a token (RFC 9110, section 5.6.2): methods, field names, chunk extensions.
    static func isToken(_ byte: UInt8) -> Bool {
        contains(byte, 0x03FF_6CFA_0000_0000, 0x57FF_FFFF_C7FF_FFFE)
    }

    /// A byte of a path or query (RFC 3986, sections 3.3 and 3.4), including percent signs and question marks.
    static func isTarget(_ byte: UInt8) -> Bool {
        contains(byte, 0xAFFF_FFF2_0000_0000, 0x47FF_FFFE_87FF_FFFF)
    }

    /// A byte of a host name or IPv4 address (RFC 3986, section 3.2.2).
    ///
    /// Excludes commas and percent-encoding, which no real host name contains.
    static func isHostName(_ byte: UInt8) -> Bool {
        contains(byte, 0x2BFF_6FD2_0000_0000, 0x47FF_FFFE_87FF_FFFE)
    }

    /// A byte of an IPv6 address.
    static func isIPv6(_ byte: UInt8) -> Bool {
        hexValue(byte) != nil || byte == UInt8(ascii: ":") || byte == UInt8(ascii: ".")
    }

    /// A byte of a field value (RFC 9110, section 5.5): visible ASCII, space, tab or non-ASCII.
    static func isFieldValue(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != 0x7F || byte == 0x09
    }

    /// A decimal digit.
    static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    /// The value of a hexadecimal digit; nil for any other byte.
    static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// The byte, converted to lower case if it is an ASCII capital.
    static func lowercased(_ byte: UInt8) -> UInt8 {
        byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
    }

    @inline(__always)
    private static func contains(_ byte: UInt8, _ low: UInt64, _ high: UInt64) -> Bool {
        let half = byte & 0x40 == 0 ? low : high
        return byte < 0x80 && half &>> (byte & 0x3F) & 1 != 0
    }
}
