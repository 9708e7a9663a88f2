import Network
import Programs

extension StandardError {
    /// The format of messages.
    private static let format = Lock(MessageFormat.text)

    /// Sets the format of messages; call it before a second thread starts.
    static func use(_ format: MessageFormat) { self.format.withLock { $0 = format } }

    /// Writes one message, prefixed with the program's name.
    static func message(_ text: String) { messages([text], summary: text) }

    /// Writes several messages: as one block of text, or as one JSON log line each.
    static func messages(_ texts: [String], summary: String) {
        switch format.withLock({ $0 }) {
        case .text: message(summary, from: "relay")
        case .logLine(let formatter):
            var bytes: [UInt8] = []
            for text in texts {
                let event = LogEvent(
                    time: WallClock.system.now, level: .error, name: "fatal", fields: [.note("error", text)])
                formatter.append(event, to: &bytes)
            }
            write(bytes)
        }
    }
}

/// The format of the program's messages on standard error.
enum MessageFormat: Sendable {
    /// `relay: ` and the message.
    case text
    /// A log line, for log collectors.
    case logLine(LogFormatter)
}
