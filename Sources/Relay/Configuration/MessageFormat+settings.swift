import Programs

extension MessageFormat {
    /// The format of a command's messages.
    ///
    /// `relay serve` uses its log format. Other commands print text, except `relay migrate` if it is configured
    /// to log JSON.
    ///
    /// - Parameter logFormat: The setting's text, valid or not; `nil` if it isn't set.
    static func of(
        _ command: String, logFormat: String?, isTerminal: Bool = StandardError.isTerminal
    ) -> MessageFormat {
        let given = logFormat.flatMap { LogFormat(rawValue: $0) }
        let isJSON =
            switch command {
            case "serve": (given ?? (isTerminal ? .text : .json)) == .json
            case "migrate": given == .json
            default: false
            }
        return isJSON ? .logLine(LogFormatter(format: .json)) : .text
    }
}
