import Storage

extension ScheduleCursor {
    /// Parses a cursor that `relay schedules` or the console shows.
    init?(_ text: String) {
        // The ID contains hyphens.
        let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let hash = SecretHash(hex: parts[0]), let id = UUIDv7(String(parts[1])) else {
            return nil
        }
        self.init(secretHash: hash.hex, id: id.text)
    }

    /// The argument for `--after` and for the console's next page.
    var text: String { "\(secretHash)-\(id)" }
}
