import HTTPServer

/// Identifies a request in responses and logs.
enum RequestID {
    /// The caller's identifier if it is valid, otherwise a new one.
    static func of(_ request: Request, using generator: inout some RandomNumberGenerator) -> String {
        if let given = request.headers.bytes(of: "X-Request-ID"), isSane(given) {
            return String(decoding: given, as: UTF8.self)
        }
        return make(using: &generator)
    }

    /// Creates an identifier: sixteen lower-case hexadecimal characters.
    static func make(using generator: inout some RandomNumberGenerator) -> String {
        let number = generator.next()
        return String(unsafeUninitializedCapacity: 16) { buffer in
            for index in 0..<16 {
                let nibble = UInt8(truncatingIfNeeded: number >> (60 - 4 * UInt64(index))) & 0x0F
                buffer[index] = nibble < 10 ? 0x30 + nibble : 0x57 + nibble
            }
            return 16
        }
    }

    /// Whether the bytes are 1 to 128 of `A-Z a-z 0-9 . _ : -`, which are safe in logs and headers.
    static func isSane(_ bytes: ArraySlice<UInt8>) -> Bool {
        (1...Bounds.requestIDCountMax).contains(bytes.count)
            && bytes.allSatisfy { byte in
                switch byte {
                case 0x30...0x3A, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "."), UInt8(ascii: "_"),
                    UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}
