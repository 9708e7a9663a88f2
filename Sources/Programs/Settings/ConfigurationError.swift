/// All problems with the configuration.
package struct ConfigurationError: Error, Equatable, CustomStringConvertible {
    /// The problems, each a sentence without secrets.
    package let problems: [String]
    /// The command whose help to refer to, after the program's name: `relay serve`.
    package let command: String

    /// Wraps at least one problem.
    package init(_ problems: [String], command: String) {
        self.problems = problems
        self.command = command
    }

    /// All problems, one per line.
    package var description: String {
        let count = problems.count == 1 ? "1 problem" : "\(problems.count) problems"
        let lines = problems.map { "  - \($0)" }.joined(separator: "\n")
        return "\(count) with the configuration:\n\(lines)\nSee \(command) --help."
    }
}
