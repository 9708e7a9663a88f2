import JSON

/// A notification that only the device can read, as the sender encrypted it.
///
/// The relay passes it on unchanged; it checks only that it is base64url without padding in its canonical form
/// (RFC 4648, sections 3.5 and 5) and begins with a version that the relay knows.
struct SealedText: Hashable, Sendable {
    /// The version of the format: the first byte.
    static let version: UInt8 = 1

    /// The text, in ASCII.
    let text: String

    /// Checks text; `nil` if it isn't a sealed notification of at most ``Bounds/sealedCountMax`` characters.
    init?(_ text: String) {
        let count = text.utf8.count
        guard (2...Bounds.sealedCountMax).contains(count), count % 4 != 1 else { return nil }
        var first = 0
        var last: UInt8 = 0
        for (index, byte) in text.utf8.enumerated() {
            guard let digit = Self.digit(byte) else { return nil }
            if index < 2 { first = first << 6 | Int(digit) }
            last = digit
        }
        // Two characters hold a byte and four unused bits; three hold two bytes and two unused bits.
        let unused: UInt8 = count % 4 == 2 ? 0b1111 : count % 4 == 3 ? 0b11 : 0
        guard last & unused == 0, first >> 4 == Int(Self.version) else { return nil }
        self.text = text
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0") + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}

/// The versions of sealed notifications that a device can open; the relay needn't know them.
struct SealedVersions: Hashable, Sendable {
    /// Distinct numbers in ascending order.
    let numbers: [Int]

    /// Versions from a request; `nil` if there are too many, or if one is out of range or a duplicate.
    init?(_ numbers: [Int]) {
        guard numbers.count <= Bounds.sealedVersionsMax, Set(numbers).count == numbers.count,
            numbers.allSatisfy((1...Bounds.sealedVersionMax).contains)
        else { return nil }
        self.numbers = numbers.sorted()
    }

    /// Reads the stored text.
    init(stored text: String) {
        numbers = text.split(separator: ",").compactMap { Int($0) }
    }

    /// The stored text: the numbers, separated by commas.
    var text: String { numbers.map(String.init).joined(separator: ",") }
}

extension RequestFields {
    /// An optional sealed notification.
    func sealed() throws(APIError) -> SealedText? {
        try optional(.sealed) { $0.string.flatMap(SealedText.init) }
    }
}
