extension QRCode {
    /// The code with its border as a PNG file (ISO/IEC 15948): one bit per pixel, uncompressed.
    ///
    /// - Parameter scale: Pixels along each side of a module.
    package func png(scale: Int = 8) -> [UInt8] {
        let side = outerSize * scale
        var rows: [UInt8] = []
        for row in 0..<outerSize {
            let line = pixels(row: row, scale: scale)
            for _ in 0..<scale { rows += [0] + line }
        }
        let header = UInt32(side).bigEndianBytes + UInt32(side).bigEndianBytes + [1, 0, 0, 0, 0]
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + Self.chunk("IHDR", header)
            + Self.chunk("IDAT", Self.stored(rows)) + Self.chunk("IEND", [])
    }

    // A row of pixels, eight per byte; set bits are white.
    private func pixels(row: Int, scale: Int) -> [UInt8] {
        let side = outerSize * scale
        var line = [UInt8](repeating: 0, count: (side + 7) / 8)
        for x in 0..<side where !isDark(column: x / scale, row: row) { line[x / 8] |= 0x80 >> UInt8(x % 8) }
        return line
    }

    private static func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
        let content = Array(name.utf8) + data
        return UInt32(data.count).bigEndianBytes + content + Checksum.crc32(content).bigEndianBytes
    }

    // zlib's format (RFC 1950) with stored blocks (RFC 1951, section 3.2.4).
    private static func stored(_ data: [UInt8]) -> [UInt8] {
        let blockBytesMax = 65_535
        var stream: [UInt8] = [0x78, 0x01]
        var rest = data[...]
        repeat {
            let block = rest.prefix(blockBytesMax)
            rest = rest.dropFirst(blockBytesMax)
            let count = UInt16(block.count)
            stream.append(rest.isEmpty ? 1 : 0)
            for word in [count, ~count] {
                stream += [UInt8(truncatingIfNeeded: word), UInt8(truncatingIfNeeded: word >> 8)]
            }
            stream += block
        } while !rest.isEmpty
        return stream + Checksum.adler32(data).bigEndianBytes
    }
}

/// The checksums in a PNG file.
enum Checksum {
    /// CRC-32 (ISO/IEC 15948, annex D).
    static func crc32(_ bytes: [UInt8]) -> UInt32 {
        var crc = UInt32.max
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
        return ~crc
    }

    /// Adler-32 (RFC 1950, section 8.2).
    static func adler32(_ bytes: [UInt8]) -> UInt32 {
        let modulus: UInt32 = 65_521
        var (low, high) = (UInt32(1), UInt32(0))
        for byte in bytes {
            low = (low + UInt32(byte)) % modulus
            high = (high + low) % modulus
        }
        return high << 16 | low
    }
}

extension UInt32 {
    fileprivate var bigEndianBytes: [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: self >> UInt32($0)) }
    }
}
