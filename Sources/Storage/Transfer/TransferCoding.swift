/// Encodes rows of any table as bytes, for checksums and for storing a position in a table.
package enum TransferCoding {
    /// Encodes values as bytes; different values have different bytes.
    package static func encode(_ values: [SQLValue]) -> [UInt8] {
        var bytes: [UInt8] = []
        for value in values {
            switch value {
            case .null: bytes.append(0)
            case .integer(let number):
                bytes.append(1)
                append(UInt64(bitPattern: number), to: &bytes)
            case .text(let text):
                bytes.append(2)
                append(UInt64(text.utf8.count), to: &bytes)
                bytes += text.utf8
            case .blob(let blob):
                bytes.append(3)
                append(UInt64(blob.count), to: &bytes)
                bytes += blob
            }
        }
        return bytes
    }

    /// Decodes bytes from `encode`; nil if they aren't valid.
    package static func decode(_ bytes: [UInt8]) -> [SQLValue]? {
        var values: [SQLValue] = []
        var rest = bytes[...]
        while let kind = rest.popFirst() {
            guard kind > 0 else {
                values.append(.null)
                continue
            }
            guard kind <= 3, rest.count >= 8 else { return nil }
            let number = rest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
            rest = rest.dropFirst(8)
            guard kind > 1 else {
                values.append(.integer(Int64(bitPattern: number)))
                continue
            }
            guard number <= UInt64(rest.count) else { return nil }
            let content = Array(rest.prefix(Int(number)))
            rest = rest.dropFirst(content.count)
            if kind == 3 {
                values.append(.blob(content))
            } else {
                guard let text = String(validating: content, as: UTF8.self) else { return nil }
                values.append(.text(text))
            }
        }
        return values
    }

    private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        for shift in stride(from: 56, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }
}

extension TransferCoding {
    /// Values as hexadecimal text.
    static func hexadecimal(_ values: [SQLValue]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let bytes = encode(values)
        var text: [UInt8] = []
        text.reserveCapacity(2 * bytes.count)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes a text from `hexadecimal`; nil if it isn't valid.
    static func decode(hexadecimal text: String) -> [SQLValue]? {
        let nibbles = text.compactMap(\.hexDigitValue)
        guard nibbles.count == text.count, nibbles.count.isMultiple(of: 2) else { return nil }
        return decode(
            stride(from: 0, to: nibbles.count, by: 2).map { UInt8(nibbles[$0] << 4 | nibbles[$0 + 1]) })
    }

    /// The SHA-256 of some values, in hexadecimal.
    static func digest(_ values: [SQLValue]) -> String {
        Digest256(of: encode(values)).hex
    }
}
