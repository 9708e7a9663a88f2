import JSON

/// Parses the subset of YAML that docs/reference/openapi.yaml uses, and refuses anything else.
///
/// Block mappings and sequences, flow sequences of plain scalars, the empty mapping `{}`, and scalars on one line:
/// plain, or in quotation marks without escapes. Plain `true`, `false` and integers aren't read as strings.
struct SimpleYAML {
    /// Input that the parser didn't understand, and its place.
    struct Fault: Error, CustomStringConvertible {
        let line: Int
        let reason: String
        var description: String { "line \(line): \(reason)" }
    }

    private struct Line {
        let number: Int
        var indent: Int
        var text: Substring
    }

    private var lines: ArraySlice<Line>

    /// Parses a complete document.
    static func parse(_ text: String) throws(Fault) -> JSON.Value {
        var lines: [Line] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let content = line.drop { $0 == " " }
            guard !content.isEmpty, !content.hasPrefix("#") else { continue }
            lines.append(Line(number: index + 1, indent: line.count - content.count, text: content))
        }
        var parser = SimpleYAML(lines: lines[...])
        let value = try parser.block(indent: 0)
        if let rest = parser.lines.first { throw Fault(line: rest.number, reason: "wrong indentation") }
        return value
    }

    /// Parses a mapping or sequence whose lines begin at an indentation.
    private mutating func block(indent: Int) throws(Fault) -> JSON.Value {
        guard let first = lines.first, first.indent == indent else {
            throw Fault(line: lines.first?.number ?? 0, reason: "a block is missing or wrongly indented")
        }
        return first.text.hasPrefix("- ") ? try sequence(indent) : try mapping(indent)
    }

    private mutating func sequence(_ indent: Int) throws(Fault) -> JSON.Value {
        var elements: [JSON.Value] = []
        while let line = lines.first, line.indent == indent, line.text.hasPrefix("- ") {
            let rest = line.text.dropFirst(2)
            if try Self.key(rest, line.number) == nil {
                lines.removeFirst()
                elements.append(try Self.scalar(rest, line.number))
            } else {
                // `- key: value` begins a mapping indented by two more columns.
                lines[lines.startIndex].indent += 2
                lines[lines.startIndex].text = rest
                elements.append(try mapping(indent + 2))
            }
        }
        return .array(elements)
    }

    private mutating func mapping(_ indent: Int) throws(Fault) -> JSON.Value {
        var object = JSON.Object()
        while let line = lines.first, line.indent == indent {
            guard let (key, rest) = try Self.key(line.text, line.number) else {
                throw Fault(line: line.number, reason: "no key")
            }
            guard object[key] == nil else { throw Fault(line: line.number, reason: "a key twice: \(key)") }
            lines.removeFirst()
            if !rest.isEmpty {
                object[key] = try Self.scalar(rest, line.number)
            } else if let next = lines.first, next.indent > indent {
                object[key] = try block(indent: next.indent)
            } else {
                throw Fault(line: line.number, reason: "no value")
            }
        }
        return .object(object)
    }

    /// The key at the beginning of a line, and the text after its colon; `nil` if there is no key.
    private static func key(
        _ text: Substring, _ number: Int
    ) throws(Fault) -> (key: String, rest: Substring)? {
        if text.hasPrefix("'") {
            let body = text.dropFirst()
            guard let end = body.firstIndex(of: "'") else { throw Fault(line: number, reason: "no end of '") }
            let after = body[body.index(after: end)...]
            guard after.hasPrefix(":") else { return nil }
            return (String(body[..<end]), after.dropFirst().drop { $0 == " " })
        }
        guard !text.hasPrefix("\""), !text.hasPrefix("["), let colon = text.firstIndex(of: ":") else {
            return nil
        }
        let rest = text[text.index(after: colon)...]
        guard rest.isEmpty || rest.hasPrefix(" ") else { return nil }
        return (String(text[..<colon]), rest.drop { $0 == " " })
    }

    private static func scalar(_ text: Substring, _ number: Int) throws(Fault) -> JSON.Value {
        guard let first = text.first else { throw Fault(line: number, reason: "no value") }
        switch first {
        case "'", "\"":
            let body = text.dropFirst()
            guard body.last == first, !body.dropLast().contains(first), first == "'" || !body.contains("\\")
            else {
                throw Fault(line: number, reason: "quotation marks or escapes")
            }
            return .string(String(body.dropLast()))
        case "[":
            guard text.last == "]" else { throw Fault(line: number, reason: "no end of [") }
            let elements = text.dropFirst().dropLast().split(separator: ",")
            return .array(
                try elements.map { element throws(Fault) in try scalar(element.drop { $0 == " " }, number) })
        case "{" where text == "{}": return [:]
        case "-" where Int(text) != nil: return Int(text).map { .int($0) } ?? nil
        case "{", "|", ">", "&", "*", "!", "%", "@", "`", "-", "?":
            throw Fault(line: number, reason: "\(first) is not understood")
        default:
            guard !text.contains(": "), !text.contains(" #"), text.last != " " else {
                throw Fault(line: number, reason: "ambiguous text; use quotation marks")
            }
            if text == "true" || text == "false" { return .bool(text == "true") }
            return Int(text).map { .int($0) } ?? .string(String(text))
        }
    }
}
