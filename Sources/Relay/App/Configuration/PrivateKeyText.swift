import Storage

/// Apple's signing key as people put it into an environment variable, brought into one form.
///
/// The file that Apple gives out is PEM. Variables that can't hold line breaks carry it with `\n` escapes,
/// or as base64, either of the whole file or of what stands between the two PEM lines.
enum PrivateKeyText {
    private static let begin = "-----BEGIN PRIVATE KEY-----"
    private static let end = "-----END PRIVATE KEY-----"

    /// The key as PEM text.
    static func normalise(_ text: String) -> Result<Secret, SettingFault> {
        let unescaped = replaceEscapes(in: text)
        if unescaped.contains("-----BEGIN") { return pem(unescaped) }
        guard let decoded = Base64.decode(Array(unescaped.utf8)) else {
            return .failure(.because("it is neither PEM text nor base64"))
        }
        let inner = String(decoding: decoded, as: UTF8.self)
        if inner.contains("-----BEGIN") { return pem(replaceEscapes(in: inner)) }
        // 0x30 opens every DER structure: this was the body of the PEM file.
        guard decoded.first == 0x30 else {
            return .failure(.because("it is base64, but of no private key"))
        }
        let body = unescaped.filter { !$0.isWhitespace }
        return pem("\(begin)\n\(body)\n\(end)")
    }

    private static func replaceEscapes(in text: String) -> String {
        var bytes: [UInt8] = []
        var source = Array(text.utf8)[...]
        while let byte = source.popFirst() {
            if byte == UInt8(ascii: "\\"), source.first == UInt8(ascii: "n") {
                source.removeFirst()
                bytes.append(UInt8(ascii: "\n"))
            } else if byte == UInt8(ascii: "\\"), source.first == UInt8(ascii: "r") {
                source.removeFirst()
            } else if byte != UInt8(ascii: "\r") {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Puts the body in lines of 64 characters, as PEM wants it: shells and compose files fold lines into blanks.
    private static func pem(_ text: String) -> Result<Secret, SettingFault> {
        guard let head = text.firstRange(of: begin) else {
            return .failure(
                .because("it is PEM, but not a PRIVATE KEY without password, as Apple's .p8 file is"))
        }
        guard let tail = text.firstRange(of: end), head.upperBound <= tail.lowerBound else {
            return .failure(.because("its last line, \(end), is missing"))
        }
        let body = text[head.upperBound..<tail.lowerBound].utf8.filter { !Base64.isBlank($0) }
        guard !body.isEmpty, Base64.decode(body) != nil else {
            return .failure(.because("what stands between its PEM lines is not base64"))
        }
        var lines = [begin]
        for start in stride(from: 0, to: body.count, by: 64) {
            lines.append(String(decoding: body[start..<min(start + 64, body.count)], as: UTF8.self))
        }
        lines.append(end)
        return .success(Secret(lines.joined(separator: "\n") + "\n"))
    }
}

/// Base64 with the standard or the URL alphabet, RFC 4648 sections 4 and 5.
enum Base64 {
    /// The bytes that a text stands for; blanks are skipped, padding may be missing.
    ///
    /// `nil` when it is no base64.
    static func decode(_ text: [UInt8]) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3)
        var bits: UInt32 = 0
        var count = 0
        var ended = false
        for byte in text where !isBlank(byte) {
            if byte == UInt8(ascii: "=") {
                ended = true
                continue
            }
            guard !ended, let value = value(of: byte) else { return nil }
            bits = bits << 6 | UInt32(value)
            count += 1
            if count % 4 == 0 {
                bytes.append(UInt8(truncatingIfNeeded: bits >> 16))
                bytes.append(UInt8(truncatingIfNeeded: bits >> 8))
                bytes.append(UInt8(truncatingIfNeeded: bits))
            }
        }
        switch count % 4 {
        case 0: break
        case 2: bytes.append(UInt8(truncatingIfNeeded: bits >> 4))
        case 3:
            bytes.append(UInt8(truncatingIfNeeded: bits >> 10))
            bytes.append(UInt8(truncatingIfNeeded: bits >> 2))
        default: return nil
        }
        return bytes
    }

    /// Whether a byte is a blank or a line break.
    static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || (0x09...0x0D).contains(byte)
    }

    private static func value(of byte: UInt8) -> UInt8? {
        switch byte {
        case 0x41...0x5A: byte - 0x41
        case 0x61...0x7A: byte - 0x61 + 26
        case 0x30...0x39: byte - 0x30 + 52
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }
}

extension SettingType where Value == Secret {
    /// Apple's signing key.
    static let privateKey = SettingType(
        accepts: "Apple's .p8 key: its PEM text, the same with \\n escapes, or its base64",
        parse: PrivateKeyText.normalise,
        render: \.description)
}
