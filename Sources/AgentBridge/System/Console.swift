import Network
import Programs

/// Writes messages for users and the journal to standard error, and results to standard output.
struct Console: Sendable {
    /// Whether to also explain decisions.
    var isVerbose = false

    private static let lock = Lock(())

    /// Writes a message.
    func note(_ text: String) {
        Self.lock.withLock { _ in StandardError.message(Printable.line(text), from: "agent-bridge") }
    }

    /// Writes a message that explains a decision, if verbose.
    func explain(_ text: @autoclosure () -> String) {
        if isVerbose { note(text()) }
    }

    /// Writes a result, such as a code for a terminal or JSON; false if nobody reads it.
    @discardableResult
    func print(_ text: String) -> Bool { StandardOutput.write(text + "\n") }

    /// The beginning of untrusted text, safe for one line of a terminal.
    static func safe(_ text: String) -> String {
        Printable.line(String(String.UnicodeScalarView(text.unicodeScalars.prefix(200))))
    }
}
