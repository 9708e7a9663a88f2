import Storage

extension WaitingCursor {
    /// Parses a cursor that `relay queue` or the console shows.
    init?(_ text: String) {
        // The id contains hyphens.
        let parts = text.split(separator: "-", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let due = Int64(parts[0]), let hash = SecretHash(hex: parts[1]) else {
            return nil
        }
        self.init(dueAt: due, secretHash: hash, id: String(parts[2]))
    }

    /// The argument for `--after`, and for the console's next page.
    var text: String { "\(dueAt)-\(secretHash.hex)-\(id)" }
}
