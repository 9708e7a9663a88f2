import Storage

/// Identifiers made of hashes.
enum Fingerprint {
    /// The first hexadecimal digits of a text's SHA-256.
    static func hex(_ text: String, count: Int) -> String {
        String(Digest256(of: Array(text.utf8)).hex.prefix(count))
    }
}
