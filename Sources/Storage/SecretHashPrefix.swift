/// The beginning of a secret's hash, as logs and commands show it, in lower case.
package struct SecretHashPrefix: Hashable, Sendable, CustomStringConvertible {
    /// The minimum number of digits; fewer would match too many secrets.
    package static let countMin = 8

    /// 8 to 64 lower-case hexadecimal digits.
    package let digits: String

    /// Parses hexadecimal digits, optionally followed by the ellipsis that commands print.
    ///
    /// Nil unless there are 8 to 64 digits.
    package init?(_ text: String) {
        let digits = (text.hasSuffix("…") ? text.dropLast() : text[...]).lowercased()
        guard (Self.countMin...Digest256.hexCount).contains(digits.utf8.count),
            digits.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
        self.digits = digits
    }

    /// The full hash; nil if the prefix is shorter.
    package var hash: SecretHash? { SecretHash(hex: digits) }

    /// The exclusive upper bound for the hashes with this prefix, in sort order.
    var end: String {
        var bytes = Array(digits.utf8)
        let last = bytes.removeLast()
        // "a" follows "9", and "g" sorts after every hexadecimal digit.
        bytes.append(last == 0x39 ? 0x61 : last + 1)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The first 12 digits and an ellipsis, as in logs.
    package var description: String { String(digits.prefix(SecretHash.prefixCount)) + "…" }
}

/// The tables to search for hashes.
package enum SecretHashScope: Sendable {
    /// All tables that contain secrets' rows.
    case everyTable
    /// Only the blocked secrets.
    case blocked

    var tables: [String] {
        switch self {
        case .everyTable:
            [
                "device_registration", "pending_push", "event_receipt", "delivery_log", "blocked_secret",
                "history_item", "agent_use", "schedule", "event_reply", "push_token",
                "access_token",
            ]
        case .blocked: ["blocked_secret"]
        }
    }
}
