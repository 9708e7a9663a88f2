import Storage

/// Where a command gets the secret that it is about: a setting, or a person at a terminal.
enum SecretInput {
    /// The secret that was given, else the one that is typed.
    ///
    /// Called on the main thread before there is another. Throws how the program shall end, after it has said why.
    static func require(_ given: Secret?, prompt: String = "Secret: ") throws(ExitStatus) -> Secret {
        if let given { return given }
        switch TerminalPrompt.ask(prompt, isShown: false) {
        case .line(let bytes):
            guard (1...Bounds.secretBytesMax).contains(bytes.count) else {
                StandardError.message(
                    bytes.isEmpty
                        ? "no secret was typed"
                        : "a secret has at most \(Bounds.secretBytesMax) bytes; this was longer")
                throw .usage
            }
            return Secret(bytes)
        case .noTerminal:
            StandardError.message(
                "no secret was given and there is no terminal to ask at: set RELAY_SECRET, or use --secret-file PATH "
                    + "(- is standard input)")
            throw .usage
        case .interrupted:
            throw .interrupted
        }
    }
}
