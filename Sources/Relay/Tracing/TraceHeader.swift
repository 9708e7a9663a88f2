import Storage

/// A header for export requests; its value is secret.
struct TraceHeader: Sendable {
    let name: String
    let value: Secret

    /// Parses `name=value` pairs separated by commas; `nil` if one isn't a header.
    static func parse(_ text: String) -> [TraceHeader]? {
        var headers: [TraceHeader] = []
        for pair in text.split(separator: ",", omittingEmptySubsequences: false) {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { return nil }
            let name = parts[0].drop { $0 == " " }
            guard !name.isEmpty, name.utf8.allSatisfy(isNameByte),
                parts[1].utf8.allSatisfy({ (0x20...0x7E).contains($0) })
            else { return nil }
            headers.append(TraceHeader(name: String(name), value: Secret(String(parts[1]))))
        }
        return headers
    }

    /// A letter, a digit, a hyphen or an underscore: enough for the header names in use.
    private static func isNameByte(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
            || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
}
