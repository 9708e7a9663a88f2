import Network
import Storage

/// The log: takes events from any thread without waiting, and writes them together on a thread of its own.
///
/// What waits is bounded by ``Bounds/logEventsWaitingMax``; what comes beyond is dropped, and the next line that
/// is written says how many were.
final class Log: Sendable {
    private struct Waiting {
        var events: [LogEvent] = []
        var dropped = 0
        var droppedInAll: UInt64 = 0
        var isScheduled = false
        var isClosed = false
    }

    /// Events below it are not logged.
    let level: LogLevel
    private let clock: WallClock
    private let formatter: LogFormatter
    private let write: @Sendable ([UInt8]) -> Void
    private let capacity: Int
    private let waiting = Lock(Waiting())
    private let loop = EventLoop(label: "relay.log")

    /// A log that gives whole lines to `write`, which may block and is called on one thread at a time.
    init(
        level: LogLevel, formatter: LogFormatter, clock: WallClock = .system,
        capacity: Int = Bounds.logEventsWaitingMax, write: @escaping @Sendable ([UInt8]) -> Void
    ) {
        self.level = level
        self.formatter = formatter
        self.clock = clock
        self.capacity = capacity
        self.write = write
    }

    /// Notes an event; never waits.
    func callAsFunction(_ level: LogLevel, _ name: StaticString, _ fields: [LogField] = []) {
        guard level >= self.level else { return }
        let event = LogEvent(time: clock.now, level: level, name: name, fields: fields)
        let isFirst = waiting.withLock { waiting in
            guard !waiting.isClosed, waiting.events.count < capacity else {
                waiting.dropped += 1
                waiting.droppedInAll += 1
                return false
            }
            waiting.events.append(event)
            defer { waiting.isScheduled = true }
            return !waiting.isScheduled
        }
        guard isFirst else { return }
        loop.submit { [self] in gather() }
    }

    /// Lines that were dropped because too many waited.
    var droppedLines: UInt64 { waiting.withLock(\.droppedInAll) }

    /// Writes what waits and ends the thread; later events are dropped.
    func close() async {
        let wasClosed = waiting.withLock { waiting in
            defer { waiting.isClosed = true }
            return waiting.isClosed
        }
        guard !wasClosed else { return }
        await loop.run { _ in self.drain() }
        await loop.stop()
    }

    /// On the log's thread: a short wait lets further events of a burst share one write.
    private func gather() {
        let timer = TimerBox()
        timer.timer = Timer(on: loop) { [self] in
            timer.timer = nil
            drain()
        }
        timer.timer?.schedule(after: Bounds.logGatherTime)
    }

    /// On the log's thread: writes everything that waits.
    private func drain() {
        let (events, dropped) = waiting.withLock { waiting in
            defer {
                waiting.events = []
                waiting.dropped = 0
                waiting.isScheduled = false
            }
            return (waiting.events, waiting.dropped)
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(events.count * 160)
        for event in events { formatter.append(event, to: &bytes) }
        if dropped > 0 {
            let fields = [LogField.count("dropped", dropped)]
            let event = LogEvent(time: clock.now, level: .warning, name: "log.dropped", fields: fields)
            formatter.append(event, to: &bytes)
        }
        if !bytes.isEmpty { write(bytes) }
    }

    /// Keeps a timer alive until it has fired.
    private final class TimerBox {
        var timer: Timer?
    }
}
