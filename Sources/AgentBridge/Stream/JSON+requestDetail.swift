import JSON

/// The content of requests as readable text.
extension JSON.Value {
    /// `bash: cd sub && make clean`: a permission's full text.
    ///
    /// Patterns and resources of 1.x are split and cut for comparison with rules; the metadata contains the
    /// actual command.
    var permissionDetail: String? {
        guard let action = (self["action"] ?? self["permission"] ?? self["type"])?.text else { return nil }
        let metadata = self["metadata"] ?? [:]
        let patterns =
            joined("resources") ?? joined("patterns") ?? joined("pattern") ?? self["pattern"]?.text
        var asked = patterns
        if let command = metadata["command"]?.text {
            // A command can need additional permissions, such as one for a directory elsewhere.
            asked =
                action == "bash" || action == "shell"
                ? command : patterns.map { "\($0): \(command)" } ?? command
        } else if let file = metadata["filepath"]?.text {
            asked = metadata["diff"]?.text.map { file + "\n" + Self.changes(in: $0) } ?? file
        } else if let url = metadata["url"]?.text ?? metadata["query"]?.text {
            asked = url
        } else if let description = metadata["description"]?.text {
            asked = patterns.map { "\($0): \(description)" } ?? description
        }
        // The reason comes last, so that it can't push the request out of text that is cut.
        let reason = self["reason"]?.text.map { "\nReason: \($0)" } ?? ""
        return (asked.map { "\(action): \($0)" } ?? action) + reason
    }

    /// `Which database? (Postgres / SQLite)`: the questions with their choices.
    var questionDetail: String? {
        let questions = (self["questions"]?.array ?? []).compactMap { question in
            question["question"]?.text.map { $0 + Self.choices(question["options"]) }
        }
        return questions.isEmpty ? nil : questions.joined(separator: "\n")
    }

    /// A form's message, otherwise its fields with their choices, otherwise its title.
    var formDetail: String? {
        let fields = self["fields"]?.array ?? []
        if let message = self["metadata"]?["message"]?.text {
            return fields.count == 1 ? message + Self.choices(fields[0]["options"]) : message
        }
        let asked = fields.compactMap { field in
            field["title"]?.text.map { $0 + Self.choices(field["options"]) }
        }
        return asked.isEmpty ? self["title"]?.text : asked.joined(separator: "\n")
    }

    private static func choices(_ options: JSON.Value?) -> String {
        let labels = (options?.array ?? []).compactMap { $0["label"]?.text ?? $0["value"]?.text ?? $0.text }
        guard !labels.isEmpty else { return "" }
        let more = labels.count > Bounds.choicesMax ? " / …" : ""
        return " (" + labels.prefix(Bounds.choicesMax).joined(separator: " / ") + more + ")"
    }

    /// The lines of a unified diff that are added or removed.
    private static func changes(in diff: String) -> String {
        let lines = diff.split(whereSeparator: \.isNewline).filter { line in
            (line.hasPrefix("+") && !line.hasPrefix("+++ "))
                || (line.hasPrefix("-") && !line.hasPrefix("--- "))
        }
        return lines.joined(separator: "\n")
    }
}

extension RunError {
    /// Reads an error of either generation: `{"name","data":{"message"}}` or `{"type","message"}`.
    init(_ error: JSON.Value?) {
        let said = error?["data"]?["message"]?.text ?? error?["message"]?.text
        self.init(
            name: error?["name"]?.string ?? error?["type"]?.string, message: said.map(Self.unwrapped))
    }

    /// Some providers' messages are themselves JSON.
    private static func unwrapped(_ message: String) -> String {
        guard message.utf8.first == UInt8(ascii: "{"),
            let inner = try? JSON.parse(
                Array(message.utf8), maxBytes: Bounds.serverAnswerBytesMax, loneSurrogates: .replaced)
        else { return message }
        return inner["message"]?.text ?? inner["error"]?["message"]?.text ?? message
    }
}
