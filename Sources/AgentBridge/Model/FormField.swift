import JSON
import PushSealing

/// A field of a 2.x form, and how a person's answer becomes its value.
struct FormField: Sendable, Equatable {
    private enum Kind: Equatable {
        case text, whole, number, yesOrNo, list
    }

    let key: String
    let question: SealedMessage.Question
    private let kind: Kind
    /// The values of the question's options, in the same order.
    private let values: [JSON.Value]

    /// The fields of a form; `nil` if the phone can't answer them all, for instance because some depend on others.
    static func all(of form: JSON.Value) -> [FormField]? {
        let listed = (form["fields"]?.array ?? []).filter {
            $0["hidden"]?.bool != true || $0["required"]?.bool == true
        }
        guard (1...Bounds.questionsMax).contains(listed.count) else { return nil }
        let fields = listed.compactMap(FormField.init)
        guard fields.count == listed.count, Set(fields.map(\.key)).count == fields.count else { return nil }
        return fields
    }

    private init?(_ value: JSON.Value) {
        guard let key = value["key"]?.string, !key.isEmpty, value["hidden"]?.bool != true,
            value["when"] == nil || value["when"]?.array?.isEmpty == true
        else { return nil }
        var options: [SealedMessage.Option] = []
        var values: [JSON.Value] = []
        for option in value["options"]?.array ?? [] {
            guard let given = option["value"]?.string, let label = option["label"]?.string, !label.isEmpty
            else {
                return nil
            }
            values.append(.string(given))
            options.append(SealedMessage.Option(label, detail: option["description"]?.string))
        }
        switch value["type"]?.string {
        case "string": kind = .text
        case "integer": kind = .whole
        case "number": kind = .number
        case "multiselect": kind = .list
        case "boolean":
            kind = .yesOrNo
            values = [true, false]
            options = [SealedMessage.Option("Yes"), SealedMessage.Option("No")]
        default: return nil
        }
        let title = value["title"]?.string ?? key
        let lines = [title, value["description"]?.string, Self.limits(value)].compactMap(\.self)
        var question = SealedMessage.Question(lines.joined(separator: "\n"), options: options)
        question.isMultiple = kind == .list
        question.isOptional = value["required"]?.bool != true
        question.allowsText = kind != .yesOrNo && (options.isEmpty || value["custom"]?.bool == true)
        guard question.isAnswerable else { return nil }
        self.key = key
        self.question = question
        self.values = values
    }

    /// The server's requirements for a value.
    ///
    /// The person must see them, because a refused reply can't be corrected.
    private static func limits(_ value: JSON.Value) -> String? {
        let words = ["integer": "a whole number", "number": "a number"]
        var limits = value["type"]?.string.flatMap { words[$0] }.map { [$0] } ?? []
        for (name, start, end) in [
            ("minimum", "at least ", ""), ("maximum", "at most ", ""),
            ("minLength", "at least ", " characters"),
            ("maxLength", "at most ", " characters"), ("minItems", "at least ", " choices"),
            ("maxItems", "at most ", " choices"), ("format", "format: ", ""), ("pattern", "pattern: ", ""),
        ] {
            guard let limit = value[name] else { continue }
            limits.append(start + (limit.string ?? String(decoding: limit.encoded(), as: UTF8.self)) + end)
        }
        return limits.isEmpty ? nil : "(\(limits.joined(separator: ", ")))"
    }

    /// The value for answers that the question accepts; `nil` if the field's type doesn't allow them.
    func value(_ answers: [String]) -> JSON.Value? {
        let given = answers.compactMap { answer in
            let option = question.options.firstIndex { Array($0.label.utf8) == Array(answer.utf8) }
            return option.map { values[$0] } ?? written(answer)
        }
        guard given.count == answers.count else { return nil }
        return kind == .list ? .array(given) : given.first
    }

    /// Text without the leading and trailing white space that keyboards add.
    private static func trimmed(_ text: String) -> Substring {
        let start = text.drop { $0.isWhitespace }
        return start.prefix(start.count - start.reversed().prefix { $0.isWhitespace }.count)
    }

    /// The value for text that the person typed.
    private func written(_ text: String) -> JSON.Value? {
        switch kind {
        case .text, .list: return .string(text)
        case .yesOrNo: return nil
        case .whole, .number:
            let number = try? JSON.parse(
                Array(Self.trimmed(text).utf8), maxBytes: Bounds.identifierBytesMax)
            guard let number, kind == .number ? number.double != nil : number.int != nil else { return nil }
            return number
        }
    }
}

extension SealedMessage.Question {
    /// Whether apps can show the question, and whether each label identifies only one option.
    var isAnswerable: Bool {
        let labels = Set(options.map { Array($0.label.utf8) })
        // Apps don't reveal hidden characters.
        let isVisible = ([text, heading] + options.flatMap { [$0.label, $0.detail] }).allSatisfy { text in
            text.map { RequestText.visible($0) == $0 } ?? true
        }
        return isVisible && labels.count == options.count && text.contains { !$0.isWhitespace }
            && (allowsText || !options.isEmpty)
    }

    /// The questions in an agent's list; `nil` if the phone can't answer them all.
    ///
    /// - Parameters:
    ///   - multiple: The member that allows several answers.
    ///   - custom: The member that forbids free text if it is false; `nil` if free text is always allowed.
    static func all(in list: JSON.Value?, multiple: String, custom: String? = nil) -> [Self]? {
        guard let listed = list?.array, (1...Bounds.questionsMax).contains(listed.count) else { return nil }
        var questions: [Self] = []
        for value in listed {
            guard let text = value["question"]?.string else { return nil }
            var question = SealedMessage.Question(text, heading: value["header"]?.string)
            for option in value["options"]?.array ?? [] {
                guard let label = option["label"]?.string, !label.isEmpty else { return nil }
                question.options.append(SealedMessage.Option(label, detail: option["description"]?.string))
            }
            question.isMultiple = value[multiple]?.bool ?? false
            question.allowsText = custom.flatMap { value[$0]?.bool } ?? true
            guard question.isAnswerable else { return nil }
            questions.append(question)
        }
        return questions
    }
}
