import JSON

/// The text of a settings file: JSON formatted as the agents write it, and differences between two texts.
enum SettingsText {
    /// JSON with one member or element per line.
    ///
    /// - Parameter indent: The indentation of one level.
    static func text(_ value: JSON.Value, indent: String = "  ") -> String {
        lines(value, indent).joined(separator: "\n") + "\n"
    }

    /// The text's indentation; two spaces if it can't be determined.
    static func indent(of text: String) -> String {
        let line = text.split(separator: "\n").dropFirst().first ?? ""
        let found = line.prefix { $0 == " " || $0 == "\t" }
        return found.isEmpty ? "  " : String(found)
    }

    private static func lines(_ value: JSON.Value, _ indent: String) -> [String] {
        if let members = value.object?.members, !members.isEmpty {
            return wrapped("{", members.map { ($0.name, $0.value) }, "}", indent)
        }
        if let elements = value.array, !elements.isEmpty {
            return wrapped("[", elements.map { (nil, $0) }, "]", indent)
        }
        return [String(decoding: value.encoded(), as: UTF8.self)]
    }

    private static func wrapped(
        _ start: String, _ parts: [(name: String?, value: JSON.Value)], _ end: String, _ indent: String
    ) -> [String] {
        var result = [start]
        for (index, part) in parts.enumerated() {
            var lines = lines(part.value, indent)
            if let name = part.name {
                lines[0] =
                    String(decoding: JSON.Value.string(name).encoded(), as: UTF8.self) + ": " + lines[0]
            }
            if index < parts.count - 1 { lines[lines.count - 1] += "," }
            result += lines.map { indent + $0 }
        }
        return result + [end]
    }

    /// The lines to remove from and add to a text, with three lines of context; empty if the texts are equal.
    static func difference(from old: String, to new: String) -> [String] {
        let (before, after) = (old.split(separator: "\n"), new.split(separator: "\n"))
        var removed: Set<Int> = []
        var inserted: Set<Int> = []
        for change in after.difference(from: before) {
            switch change {
            case .remove(let offset, _, _): removed.insert(offset)
            case .insert(let offset, _, _): inserted.insert(offset)
            }
        }
        var lines: [(text: String, isChange: Bool)] = []
        var (left, right) = (0, 0)
        while left < before.count || right < after.count {
            if removed.contains(left) {
                lines.append(("-" + before[left], true))
                left += 1
            } else if inserted.contains(right) {
                lines.append(("+" + after[right], true))
                right += 1
            } else {
                lines.append((" " + before[left], false))
                (left, right) = (left + 1, right + 1)
            }
        }
        let context = 3
        return lines.indices.filter { index in
            lines[max(0, index - context)...min(lines.count - 1, index + context)].contains(where: \.isChange)
        }.map { lines[$0].text }
    }
}
