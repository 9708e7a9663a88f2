import Glibc

/// What a piece of a command's output means, which a terminal shows as a colour.
enum TextMark: Sendable, Equatable {
    case heading, good, warning, bad
}

/// How a command's output looks, depending on what it goes to.
struct OutputStyle: Sendable, Equatable {
    /// Whether marks become colours.
    let isColoured: Bool

    /// Without colours.
    static let plain = OutputStyle(isColoured: false)

    /// The style of standard output: colours on a terminal, unless `NO_COLOR` (no-color.org) or `TERM` is against it.
    static func standardOutput(_ environment: [String: String]) -> OutputStyle {
        OutputStyle(isTerminal: isatty(STDOUT_FILENO) == 1, environment)
    }

    /// The style of an output that is a terminal or isn't.
    init(isTerminal: Bool, _ environment: [String: String]) {
        let isUnwanted = !(environment["NO_COLOR"] ?? "").isEmpty || environment["TERM"] == "dumb"
        isColoured = isTerminal && !isUnwanted
    }

    private init(isColoured: Bool) {
        self.isColoured = isColoured
    }

    /// The text in its mark's colour.
    func paint(_ text: String, _ mark: TextMark?) -> String {
        guard isColoured, let mark, !text.isEmpty else { return text }
        let code =
            switch mark {
            case .heading: "1"
            case .good: "32"
            case .warning: "33"
            case .bad: "31"
            }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }
}
