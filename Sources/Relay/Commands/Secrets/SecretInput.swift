import Programs
import Storage

/// Gets a command's secret from a setting or from a terminal.
enum SecretInput {
    /// The given secret, or otherwise the one typed.
    ///
    /// Call it on the main thread before starting another thread. Throws the exit status after printing the reason.
    static func require(_ given: Secret?, prompt: String = "Secret: ") throws(ExitStatus) -> Secret {
        if let given { return given }
        switch TerminalPrompt.ask(prompt, isShown: false) {
        case .line(let bytes):
            guard (1...Bounds.secretBytesMax).contains(bytes.count) else {
                StandardError.message(
                    bytes.isEmpty
                        ? "no secret was typed"
                        : "the secret is longer than \(Bounds.secretBytesMax) bytes")
                throw .usage
            }
            return Secret(bytes)
        case .noTerminal:
            StandardError.message(
                "no secret was given, and there is no terminal on which to ask for it: set RELAY_SECRET, or use --secret-file PATH "
                    + "(- is standard input)")
            throw .usage
        case .interrupted:
            throw .interrupted
        }
    }
}
