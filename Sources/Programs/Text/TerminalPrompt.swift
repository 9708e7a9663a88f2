import Glibc

/// Asks a question on the terminal that is connected to standard input.
package enum TerminalPrompt {
    /// The answer to a question.
    package enum Answer: Equatable {
        /// The typed line without its line break; also empty at the end of input.
        case line([UInt8])
        /// Standard input isn't a terminal.
        case noTerminal
        /// The user pressed Ctrl-C, SIGTERM arrived, or the terminal was closed.
        case interrupted
    }

    /// The maximum size in bytes of a line in a terminal's canonical mode.
    private static let lineBytesMax = 4096
    /// How often a prompt checks for signals.
    private static let signalInterval = Duration.milliseconds(100)

    /// Whether standard input is a terminal.
    package static var isPossible: Bool { isatty(STDIN_FILENO) == 1 }

    /// Asks a question and waits for a line.
    ///
    /// The terminal's state is always restored: signals that end a program are caught from here on, and the keys for
    /// other signals are disabled during the prompt.
    ///
    /// - Parameter isShown: Whether the input is echoed.
    package static func ask(_ question: String, isShown: Bool) -> Answer {
        var before = termios()
        guard isatty(STDIN_FILENO) == 1, tcgetattr(STDIN_FILENO, &before) == 0 else { return .noTerminal }
        Signals.prepare()
        var during = before
        if !isShown {
            during.c_lflag &= ~tcflag_t(ECHO)
            during.c_lflag |= tcflag_t(ECHONL)
        }
        // Zero is the character that no key sends (_POSIX_VDISABLE); Linux keeps VQUIT at 1 and VSUSP at 10.
        (during.c_cc.1, during.c_cc.10) = (0, 0)
        // Discards input typed before the question.
        guard tcsetattr(STDIN_FILENO, TCSAFLUSH, &during) == 0 else { return .noTerminal }
        defer { tcsetattr(STDIN_FILENO, TCSAFLUSH, &before) }
        StandardError.write(Array(question.utf8))
        let answer = line()
        if answer == .interrupted { StandardError.write([UInt8(ascii: "\n")]) }
        return answer
    }

    /// Reads one line; the kernel handles editing.
    private static func line() -> Answer {
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        let waitMilliseconds = Int32(signalInterval.inMilliseconds)
        while true {
            if case .request = Signals.wait(atMost: .zero) { return .interrupted }
            guard poll(&input, 1, waitMilliseconds) > 0 else { continue }
            var bytes = [UInt8](repeating: 0, count: lineBytesMax)
            let count = read(STDIN_FILENO, &bytes, bytes.count)
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count >= 0 else { return .interrupted }
            let end = UInt8(ascii: "\n")
            return .line(Array(bytes[..<count].prefix { $0 != end }))
        }
    }
}
