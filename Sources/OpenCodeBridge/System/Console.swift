import Glibc
import Network
import Programs

/// Writes messages for users and the journal to standard error, results to standard output.
struct Console: Sendable {
    /// Whether to also explain decisions.
    var isVerbose = false

    private static let lock = Lock(())

    /// A message.
    func note(_ text: String) { Self.write("opencode-bridge: \(Printable.line(text))\n", STDERR_FILENO) }

    /// A message that explains a decision.
    func explain(_ text: @autoclosure () -> String) {
        if isVerbose { note(text()) }
    }

    /// A result, such as a code for a terminal or JSON.
    func print(_ text: String) { Self.write(text + "\n", STDOUT_FILENO) }

    private static func write(_ text: String, _ descriptor: Int32) {
        // A closed standard output is no reason to stop ringing.
        lock.withLock { _ in try? SmallFile.write(Printable.json(Array(text.utf8)), to: descriptor) }
    }

    /// The beginning of an untrusted text, safe for one line of a terminal.
    static func safe(_ text: String) -> String {
        Printable.line(String(String.UnicodeScalarView(text.unicodeScalars.prefix(200))))
    }
}
