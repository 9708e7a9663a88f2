import Glibc
import JSON
import Network

/// Prints pushes on standard output, once a turn of a loop.
package final class PushPrinter: Sendable {
    /// How a push is printed.
    package enum Form: Hashable, Sendable {
        /// For a person.
        case card
        /// A JSON object on a line.
        case json
    }

    private struct Waiting {
        var text: [UInt8] = []
        var isFlushPut = false
        /// Whether nobody reads standard output any more.
        var isOver = false
    }

    private let form: Form
    private let waiting = Lock(Waiting())
    private let output = Lock(())

    /// A printer.
    package init(_ form: Form) { self.form = form }

    /// Prints a push at the end of the loop's turn.
    func print(_ record: PushRecord, on loop: EventLoop) {
        let text: [UInt8]
        switch form {
        case .card: text = Array(PushCard.text(record, utcOffset: Self.utcOffset).utf8)
        case .json: text = record.json.encoded() + [UInt8(ascii: "\n")]
        }
        let isFirst = waiting.withLock { waiting in
            guard !waiting.isOver else { return false }
            waiting.text.append(contentsOf: text)
            defer { waiting.isFlushPut = true }
            return !waiting.isFlushPut
        }
        if isFirst { loop.atTurnEnd { [self] in flush() } }
    }

    private func flush() {
        output.withLock { _ in
            let text = waiting.withLock { waiting in
                defer {
                    waiting.text.removeAll(keepingCapacity: true)
                    waiting.isFlushPut = false
                }
                return waiting.text
            }
            guard StandardOutput.write(text) else { return waiting.withLock { $0.isOver = true } }
        }
    }

    /// The local time's distance from UTC in seconds, now.
    package static var utcOffset: Int {
        var now = time(nil)
        var local = unsafe tm()
        unsafe localtime_r(&now, &local)
        return unsafe local.tm_gmtoff
    }
}

/// The process's standard output.
enum StandardOutput {
    /// Writes everything and returns whether that was possible.
    @discardableResult
    static func write(_ bytes: [UInt8], to descriptor: Int32 = STDOUT_FILENO) -> Bool {
        var offset = 0
        while offset < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { bytes in
                unsafe Glibc.write(descriptor, bytes.baseAddress?.advanced(by: offset), bytes.count - offset)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            offset += count
        }
        return true
    }
}
