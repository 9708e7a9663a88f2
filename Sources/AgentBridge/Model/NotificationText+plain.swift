/// Converts the Markdown that agents write to plain text, because notifications can't show markup.
extension NotificationText {
    /// Text without the markup of headings, lists, quotes, code, emphasis and links.
    static func plain(_ markdown: String) -> String {
        var lines: [String] = []
        for line in markdown.prefix(Bounds.markdownCharactersMax).split(whereSeparator: \.isNewline) {
            var rest = line.drop { $0 == " " || $0 == "\t" }
            if rest.hasPrefix("```") || rest.hasPrefix("~~~") { continue }
            while let marker = blockMarkers.first(where: rest.hasPrefix) {
                rest = rest.dropFirst(marker.count).drop { $0 == " " }
            }
            // A horizontal rule, or the line below a table's heading.
            if rest.allSatisfy({ "-=*_|: ".contains($0) }) { continue }
            lines.append(inline(rest))
        }
        return lines.joined(separator: "\n")
    }

    private static let blockMarkers = [
        "# ", "## ", "### ", "#### ", "##### ", "###### ", "> ", "- [ ] ", "- [x] ", "- ", "* ", "+ ",
    ]

    /// A line without backquotes, pairs of emphasis marks, and link targets.
    private static func inline(_ line: Substring) -> String {
        var result = ""
        var rest = line
        while let first = rest.first {
            if first == "`" {
                rest = rest.drop { $0 == "`" }
            } else if first == "*" || first == "_" || first == "~", let inner = emphasised(rest, first) {
                result += inline(inner.text)
                rest = inner.rest
            } else if let link = link(rest) {
                result += inline(link.text)
                rest = link.rest
            } else {
                result.append(first)
                rest = rest.dropFirst()
                // Marks inside a word, such as in `snake_case`, aren't markup.
                while let next = rest.first, next.isLetter || next.isNumber || next == "_" {
                    guard first.isLetter || first.isNumber || first == "_" else { break }
                    result.append(next)
                    rest = rest.dropFirst()
                }
            }
        }
        return result
    }

    /// The text between one, two or three marks and the same marks again.
    private static func emphasised(_ text: Substring, _ mark: Character) -> (
        text: Substring, rest: Substring
    )? {
        let count = min(text.prefix { $0 == mark }.count, 3)
        let marks = String(repeating: mark, count: count)
        let inner = text.dropFirst(count)
        guard mark != "~" || count == 2, let first = inner.first, !first.isWhitespace,
            let end = inner.firstRange(of: marks), end.lowerBound > inner.startIndex,
            !inner[inner.index(before: end.lowerBound)].isWhitespace,
            mark != "_" || inner[end.upperBound...].first.map({ !$0.isLetter && !$0.isNumber }) ?? true
        else { return nil }
        return (inner[..<end.lowerBound], inner[end.upperBound...])
    }

    /// `[text](target)`, or an image.
    private static func link(_ text: Substring) -> (text: Substring, rest: Substring)? {
        let inner = text.hasPrefix("![") ? text.dropFirst(2) : text.hasPrefix("[") ? text.dropFirst() : nil
        guard let inner, let middle = inner.firstRange(of: "]("),
            let end = inner[middle.upperBound...].firstIndex(of: ")")
        else { return nil }
        return (inner[..<middle.lowerBound], inner[inner.index(after: end)...])
    }
}
