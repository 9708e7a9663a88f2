import JSON

extension [String] {
    /// Shortens the texts, starting with the last, so that their escaped sizes total at most `count` bytes if possible.
    func shortened(toEscaped count: Int) -> [String] {
        var texts = self
        var taken = texts.reduce(0) { $0 + JSON.Writer.escapedCount($1) }
        for index in texts.indices.reversed() where taken > count {
            let others = taken - JSON.Writer.escapedCount(texts[index])
            texts[index] = texts[index].shortened(toEscaped: count - others)
            taken = others + JSON.Writer.escapedCount(texts[index])
        }
        return texts
    }
}

extension String {
    /// The text if its escaped size is at most `count` bytes, otherwise as much of its start as leaves room for `…`.
    ///
    /// The text is cut between two characters (extended grapheme clusters). If not even one character fits, the result
    /// is just `…`; a text that is no longer than `…` is kept.
    func shortened(toEscaped count: Int) -> String {
        let ellipsis = "…"
        guard JSON.Writer.escapedCount(self) > max(count, ellipsis.utf8.count) else { return self }
        let fitting = JSON.Writer.prefixCount(self, escapedTo: count - ellipsis.utf8.count)
        let last = utf8.index(startIndex, offsetBy: fitting)
        // Moving forward and back again finds the start of the character that contains `last`.
        let end = index(before: index(after: last))
        return self[..<end] + ellipsis
    }
}
