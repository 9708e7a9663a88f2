import JSON

/// Shows a request as it is: what a person approves must be what they saw.
///
/// Unlike ``NotificationText``, it leaves nothing out. Characters that hide or reorder others are written as
/// `⟨U+202E⟩`, and white space that could push others out of sight is replaced by its count.
enum RequestText {
    /// The text with every character made visible.
    static func visible(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        var gap = String.UnicodeScalarView()
        func endGap() {
            result.append(contentsOf: shown(gap))
            gap.removeAll()
        }
        for scalar in text.unicodeScalars {
            if blanks.contains(scalar) {
                gap.append(scalar)
                continue
            }
            endGap()
            if isVisible(scalar) {
                result.append(scalar)
            } else {
                result.append(contentsOf: "⟨\(name(scalar))⟩".unicodeScalars)
            }
        }
        endGap()
        return String(result)
    }

    /// The text on one line with every character visible, so that it can't imitate the bridge's own lines.
    static func line(_ text: String) -> String {
        visible(text).split(separator: "\n", omittingEmptySubsequences: false).joined(
            separator: "⟨line break⟩")
    }

    private static let blanks: [Unicode.Scalar] = ["\n", " ", "\t"]

    /// White space, or its count if there is more than text needs.
    private static func shown(_ gap: String.UnicodeScalarView) -> String.UnicodeScalarView {
        func number(_ gap: some Sequence<Unicode.Scalar>) -> String {
            let counts = blanks.compactMap { blank in
                let count = gap.count { $0 == blank }
                return count > 0 ? "\(count) × \(name(blank))" : nil
            }
            return "⟨" + counts.joined(separator: ", ") + "⟩"
        }
        guard !gap.isEmpty else { return gap }
        guard gap.count(where: { $0 == "\n" }) <= Bounds.shownBreaksMax else {
            return number(gap).unicodeScalars
        }
        let parts = gap.split(separator: "\n", omittingEmptySubsequences: false).map { part in
            part.count > Bounds.shownSpacesMax ? number(part) : String(String.UnicodeScalarView(part))
        }
        return parts.joined(separator: "\n").unicodeScalars
    }

    private static func name(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case " ": return "space"
        case "\n": return "line break"
        case "\t": return "tab"
        default:
            let digits = String(scalar.value, radix: 16, uppercase: true)
            return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        }
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        let properties = scalar.properties
        // A Braille pattern without dots.
        guard scalar != "\u{2800}", !properties.isWhitespace, !properties.isDefaultIgnorableCodePoint else {
            return false
        }
        return switch properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
            false
        default: true
        }
    }

    /// A tool's input: first what is run or changed, then every other member with its name.
    ///
    /// - Parameter skipped: A member of the input to leave out; members of nested values are always shown.
    static func lines(of input: JSON.Value, without skipped: String? = nil) -> [String] {
        guard let members = input.object?.members else { return [shown(input)] }
        var lines: [String] = []
        for name in leading {
            guard let value = input[name] else { continue }
            lines += leadingLines(name, value)
        }
        for member in members where !leading.contains(member.name) && member.name != skipped {
            lines.append("\(line(member.name)): \(shown(member.value))")
        }
        return lines
    }

    /// The agent's own description of a tool call, which proves nothing.
    static let description = "description"

    private static let leading = [
        "command", "plan", "file_path", "notebook_path", "old_string", "new_string", "content", "new_source",
        "edits",
    ]

    private static func leadingLines(_ name: String, _ value: JSON.Value) -> [String] {
        if name == "edits", let edits = value.array, !edits.isEmpty {
            return edits.enumerated().flatMap { ["change \($0 + 1):"] + lines(of: $1) }
        }
        guard let text = value.string else { return ["\(name): \(shown(value))"] }
        switch name {
        case "old_string": return marked(text, "-")
        case "new_string", "content", "new_source": return marked(text, "+")
        case "command", "plan": return [visible(text)]
        default: return ["\(name): \(line(text))"]
        }
    }

    private static func marked(_ text: String, _ mark: String) -> [String] {
        visible(text).split(separator: "\n", omittingEmptySubsequences: false).map { mark + $0 }
    }

    private static func shown(_ value: JSON.Value) -> String {
        visible(String(decoding: value.encoded(), as: UTF8.self))
    }

    /// The beginning and the end of text that doesn't fit, and how much is missing between them.
    static func cut(_ text: String, bytes: Int, digest: String) -> String {
        let scalars = text.unicodeScalars
        func end(_ indices: some Sequence<String.Index>, _ bytes: Int) -> String.Index? {
            var size = 0
            var last: String.Index?
            for index in indices {
                size += UTF8.width(scalars[index])
                guard size <= bytes else { break }
                last = index
            }
            return last
        }
        guard let head = end(scalars.indices, bytes * 2 / 3),
            let tail = end(scalars.indices.reversed(), bytes / 3),
            head < tail
        else { return text }
        let hidden = scalars[scalars.index(after: head)..<tail]
        guard !hidden.isEmpty else { return text }
        return """
            \(String(scalars[...head]))
            ⟨CUT: \(hidden.count) of \(scalars.count) characters are missing here⟩
            \(String(scalars[tail...]))
            Only the computer shows all of it, so it can only be rejected here. SHA-256 \(digest)
            """
    }
}
