import Glibc
import JSON
import Network
import Programs
package import PushSealing

/// Prints pushes to standard output, once per turn of a loop.
package final class PushPrinter: Sendable {
    /// The output format.
    package enum Form: Hashable, Sendable {
        /// Human-readable.
        case card
        /// One JSON object per line.
        case json
    }

    private struct Waiting {
        var text: [UInt8] = []
        var isFlushPut = false
        /// Whether standard output was closed by its reader.
        var isOver = false
    }

    private let form: Form
    private let keys: [NotificationKey]
    private let waiting = Lock(Waiting())
    private let output = Lock(())

    /// Creates a printer.
    ///
    /// - Parameter keys: The keys that open sealed notifications.
    package init(_ form: Form, keys: [NotificationKey] = []) {
        self.form = form
        self.keys = keys
    }

    /// Prints a push at the end of the loop's turn.
    func print(_ record: PushRecord, on loop: EventLoop) {
        let text: [UInt8]
        switch form {
        case .card: text = Array(PushCard.text(record, utcOffset: Self.utcOffset, keys: keys).utf8)
        case .json: text = Printable.json(record.json(keys: keys).encoded()) + [UInt8(ascii: "\n")]
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
            guard (try? SmallFile.write(text, to: STDOUT_FILENO)) != nil else {
                return waiting.withLock { $0.isOver = true }
            }
        }
    }

    /// The current offset of local time from UTC in seconds.
    package static var utcOffset: Int {
        var now = time(nil)
        var local = unsafe tm()
        unsafe localtime_r(&now, &local)
        return unsafe local.tm_gmtoff
    }
}
