import Glibc

/// The meaning of a piece of output, shown as a colour on a terminal.
package enum TextMark: Sendable, Equatable {
    case heading, good, warning, bad
}

/// The style of a command's output, depending on its destination.
package struct OutputStyle: Sendable, Equatable {
    /// Whether to use colours.
    package let isColoured: Bool

    /// A style without colours.
    package static let plain = OutputStyle(isColoured: false)

    /// Standard output's style: colours on a terminal unless `NO_COLOR` (no-color.org) or `TERM` disables them.
    package static func standardOutput(_ environment: [String: String]) -> OutputStyle {
        OutputStyle(isTerminal: isatty(STDOUT_FILENO) == 1, environment)
    }

    /// Creates the style for output to a terminal or elsewhere.
    package init(isTerminal: Bool, _ environment: [String: String]) {
        let isUnwanted = !(environment["NO_COLOR"] ?? "").isEmpty || environment["TERM"] == "dumb"
        isColoured = isTerminal && !isUnwanted
    }

    private init(isColoured: Bool) {
        self.isColoured = isColoured
    }

    /// The text in its mark's colour.
    package func paint(_ text: String, _ mark: TextMark?) -> String {
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
