/// The URL around a pairing's JSON.
enum PairingLink {
    private static let names = ["pair", "payload"]

    /// A link with the JSON, percent-encoded as JavaScript's `encodeURIComponent` does.
    static func link(to json: String, scheme: String) -> String {
        "\(scheme):///?pair=\(encoded(json))"
    }

    /// A link to the web page of a relay, with the JSON in its fragment, which browsers don't send.
    static func pageLink(to json: String, relayURL: String) -> String {
        "\(relayURL)/app/#pair=\(encoded(json))"
    }

    /// The JSON in a link's query, or else in its fragment; `nil` if there is none.
    static func payload(of link: String) -> String? {
        guard !link.hasPrefix("{") else { return nil }
        let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let query = parts.first?.firstIndex(of: "?").map { link[link.index(after: $0)..<parts[0].endIndex] }
        return member(of: query ?? "") ?? member(of: parts.count > 1 ? parts[1] : "")
    }

    private static func member(of query: Substring) -> String? {
        for part in query.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1)
            if pair.count == 2, names.contains(String(pair[0])) { return decoded(pair[1]) }
        }
        return nil
    }

    private static func encoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            if isUnreserved(byte) {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                encoded += "%" + Hexadecimal.text([byte]).uppercased()
            }
        }
        return encoded
    }

    // In a query, a plus sign is a space (URL Standard, application/x-www-form-urlencoded).
    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(0x20)
            case UInt8(ascii: "%"):
                let digits = String(decoding: rest.prefix(2), as: UTF8.self)
                guard let value = Hexadecimal.bytes(digits)?.first else { return nil }
                bytes.append(value)
                rest = rest.dropFirst(2)
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-_.!~*'()".utf8.contains(byte)
        }
    }
}
