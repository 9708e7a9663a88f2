import Network
import Storage

/// The log: takes events from any thread without waiting, and writes them together on a thread of its own.
///
/// What waits is bounded by ``Bounds/logEventsWaitingMax``; what comes beyond is dropped, and the next line that
/// is written says how many were. Refusals beyond a few are counted and summarised (``RefusalTally``).
final class Log: Sendable {
    private struct Waiting {
        var events: [LogEvent] = []
        var refusals = RefusalTally()
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
    private let refusalInterval: Duration
    private let loop = EventLoop(label: "relay.log")
    /// Ends the interval of refusals that has begun.
    private let intervalTimer = Lock<LoopBound<Timer>?>(nil)

    /// A log that gives whole lines to `write`, which may block and is called on one thread at a time.
    init(
        level: LogLevel, formatter: LogFormatter, clock: WallClock = .system,
        capacity: Int = Bounds.logEventsWaitingMax,
        refusalInterval: Duration = Bounds.refusalSummaryInterval,
        write: @escaping @Sendable ([UInt8]) -> Void
    ) {
        self.level = level
        self.formatter = formatter
        self.clock = clock
        self.capacity = capacity
        self.refusalInterval = refusalInterval
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

    /// Notes a refused request: with a line, or in the summary of its kind that follows; never waits.
    func refused(_ kind: RefusalTally.Kind, _ level: LogLevel, _ fields: @autoclosure () -> [LogField]) {
        guard level >= self.level else { return }
        let verdict = waiting.withLock { waiting in
            // Once the log is closed, the line is counted among those that were dropped.
            waiting.isClosed ? nil : waiting.refusals.note(kind, level, at: clock.now)
        }
        if verdict?.beginsInterval == true { loop.submit { [self] in beginInterval() } }
        if verdict?.hasLine != false { self(level, "request", fields()) }
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
        await loop.run { _ in
            self.intervalTimer.withLock { $0 = nil }
            self.drain(endsInterval: true)
        }
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

    /// On the log's thread: an interval of refusals has begun.
    private func beginInterval() {
        let timer = Timer(on: loop) { [weak self] in self?.drain(endsInterval: true) }
        timer.schedule(after: refusalInterval)
        intervalTimer.withLock { $0 = LoopBound(timer, on: loop) }
    }

    /// On the log's thread: writes everything that waits, and the summaries of an interval that ends.
    private func drain(endsInterval: Bool = false) {
        let (events, dropped, summaries) = waiting.withLock { waiting in
            defer {
                waiting.events = []
                waiting.dropped = 0
                waiting.isScheduled = false
            }
            return (waiting.events, waiting.dropped, endsInterval ? waiting.refusals.end() : [])
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(events.count * 160)
        for event in events { formatter.append(event, to: &bytes) }
        for summary in summaries { formatter.append(LogEvent(summary, at: clock.now), to: &bytes) }
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
