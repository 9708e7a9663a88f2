/// An option or an argument of commands: the row from which the parser, help, manual page and completions are
/// generated.
package struct CommandOption: Sendable {
    /// `--limit`, or the name of an argument: `AGENT`.
    package let name: String
    /// The form of the option's value.
    package let value: OptionValue
    /// The option's description, one or two sentences.
    package let summary: String
    /// Whether the option may be given several times.
    package let isRepeatable: Bool

    /// Creates an option without a value.
    package init(_ name: String, _ summary: String) { self.init(name, .none, summary) }

    /// Creates an option or an argument with a value.
    package init(
        _ name: String, _ value: OptionValue, repeatable: Bool = false, _ summary: String
    ) {
        self.name = name
        self.value = value
        self.summary = summary
        isRepeatable = repeatable
    }

    /// The option as shown in the usage: `--limit N`.
    package var usage: String {
        guard let value = value.name else { return name }
        return name.hasPrefix("-") ? "\(name) \(value)" : name
    }

    /// Whether the option takes a value.
    package var takesValue: Bool { value.name != nil }
}

/// The options and arguments of a command line.
package struct CommandOptions: Equatable, Sendable {
    /// An option's name and the text given for it, empty for a switch.
    private struct Given: Sendable {
        let option: CommandOption
        let text: String
    }

    private var given: [Given] = []

    /// Creates a command line without options, or with switches.
    package init(_ switches: CommandOption...) {
        given = switches.map { Given(option: $0, text: "") }
    }

    /// Whether both contain the same texts for each option.
    package static func == (one: CommandOptions, other: CommandOptions) -> Bool {
        one.textsByName == other.textsByName
    }

    private var textsByName: [String: [String]] {
        Dictionary(grouping: given, by: \.option.name).mapValues { $0.map(\.text) }
    }

    /// All options in the order of the command line.
    package var all: [(option: CommandOption, text: String)] { given.map { ($0.option, $0.text) } }

    /// Whether an option was given.
    package func has(_ option: CommandOption) -> Bool { text(option) != nil }

    /// The number given for an option.
    package func number(_ option: CommandOption) -> Int? { text(option).flatMap { Int($0) } }

    /// The text given for an option.
    package func text(_ option: CommandOption) -> String? { texts(option).last }

    /// The texts given for an option that may be repeated.
    package func texts(_ option: CommandOption) -> [String] {
        given.filter { $0.option.name == option.name }.map(\.text)
    }

    /// Adds an option with its value, if it takes one.
    ///
    /// - Parameters:
    ///   - text: The given value; `nil` if there was none.
    ///   - replaces: Whether the value may replace an earlier one.
    package mutating func add(
        _ option: CommandOption, _ text: String?, replaces: Bool = false
    ) throws(UsageError) {
        guard !has(option) || option.isRepeatable || replaces else {
            throw UsageError("\(option.name) is given twice")
        }
        guard option.takesValue else {
            guard text == nil else { throw UsageError("\(option.name) takes no value") }
            return given.append(Given(option: option, text: ""))
        }
        guard let text, !text.isEmpty else { throw UsageError("\(option.name) needs a value") }
        if let expected = option.value.refusal(text) {
            throw UsageError("\(option.name) is \(Quoted.value(text)): expected \(expected)")
        }
        given.append(Given(option: option, text: text))
    }
}

/// An invalid command line.
package struct UsageError: Error, Equatable, CustomStringConvertible {
    /// The problems, each a sentence without its full stop.
    package let problems: [String]

    /// Wraps at least one problem.
    package init(_ problems: [String]) { self.problems = problems }

    /// Wraps one problem.
    package init(_ problem: String) { self.init([problem]) }

    /// One sentence, or all problems, one per line.
    package var description: String {
        guard problems.count > 1 else {
            let problem = problems.first ?? ""
            return problem.hasSuffix("?") ? problem : problem + "."
        }
        return "\(problems.count) problems with the command line:\n"
            + problems.map { "  - \($0)\n" }.joined().dropLast()
    }
}
