extension MessageFormat {
    /// The format of a command's messages.
    ///
    /// `relay serve` uses its log format. Other commands print text, except `relay migrate` if it is configured
    /// to log JSON.
    ///
    /// - Parameters:
    ///   - user: `nil` if the command is unknown.
    ///   - logFormat: The setting's text, valid or not; `nil` if it isn't set.
    static func of(
        _ user: Command?, logFormat: String?, isTerminal: Bool = StandardError.isTerminal
    ) -> MessageFormat {
        let given = logFormat.flatMap { LogFormat(rawValue: $0) }
        let isJSON =
            switch user {
            case .serve: (given ?? (isTerminal ? .text : .json)) == .json
            case .migrate: given == .json
            default: false
            }
        return isJSON ? .logLine(LogFormatter(format: .json)) : .text
    }
}
