import Network
import Programs
import Storage
import Synchronization

/// The log: accepts events from any thread without blocking, and writes them in batches on its own thread.
///
/// The buffer is limited by ``Bounds/logEventsWaitingMax``; events beyond it are dropped, and the next line
/// reports how many. Beyond the first few, refusals are counted and summarised (``RefusalTally``).
final class Log: Sendable {
    private struct Waiting {
        var events: [LogEvent] = []
        var refusals = RefusalTally()
        var dropped = 0
        var droppedInAll: UInt64 = 0
        var isScheduled = false
        var isClosed = false
    }

    /// The minimum level; can change at any time.
    var level: LogLevel {
        get { LogLevel.allCases[levelIndex.load(ordering: .relaxed)] }
        set { levelIndex.store(Self.index(of: newValue), ordering: .relaxed) }
    }

    /// The level's index among all levels.
    private let levelIndex: Atomic<Int>

    private static func index(of level: LogLevel) -> Int { LogLevel.allCases.firstIndex(of: level) ?? 0 }

    private let clock: WallClock
    private let formatter: LogFormatter
    private let write: @Sendable ([UInt8]) -> Void
    private let capacity: Int
    private let waiting = Lock(Waiting())
    private let refusalInterval: Duration
    private let loop = EventLoop(label: "relay.log")
    /// Ends the current interval of refusals.
    private let intervalTimer = Lock<LoopBound<Timer>?>(nil)

    /// A log that passes complete lines to `write`, which may block and is called on one thread at a time.
    init(
        level: LogLevel, formatter: LogFormatter, clock: WallClock = .system,
        capacity: Int = Bounds.logEventsWaitingMax,
        refusalInterval: Duration = Bounds.refusalSummaryInterval,
        write: @escaping @Sendable ([UInt8]) -> Void
    ) {
        levelIndex = Atomic(Self.index(of: level))
        self.formatter = formatter
        self.clock = clock
        self.capacity = capacity
        self.refusalInterval = refusalInterval
        self.write = write
    }

    /// Logs an event; never waits.
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

    /// Logs a refused request on its own line or in its kind's next summary; never waits.
    func refused(_ kind: RefusalTally.Kind, _ level: LogLevel, _ fields: @autoclosure () -> [LogField]) {
        guard level >= self.level else { return }
        let verdict = waiting.withLock { waiting in
            // Once the log is closed, the line counts as dropped.
            waiting.isClosed ? nil : waiting.refusals.note(kind, level, at: clock.now)
        }
        if verdict?.beginsInterval == true { loop.submit { [self] in beginInterval() } }
        if verdict?.hasLine != false { self(level, "request", fields()) }
    }

    /// The number of lines dropped because the buffer was full.
    var droppedLines: UInt64 { waiting.withLock(\.droppedInAll) }

    /// Writes the buffered lines and ends the thread; later events are dropped.
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

    /// On the log's thread: waits briefly so that a burst shares one write.
    private func gather() {
        let timer = TimerBox()
        timer.timer = Timer(on: loop) { [self] in
            timer.timer = nil
            drain()
        }
        timer.timer?.schedule(after: Bounds.logGatherTime)
    }

    /// On the log's thread: starts an interval of refusals.
    private func beginInterval() {
        let timer = Timer(on: loop) { [weak self] in self?.drain(endsInterval: true) }
        timer.schedule(after: refusalInterval)
        intervalTimer.withLock { $0 = LoopBound(timer, on: loop) }
    }

    /// On the log's thread: writes all buffered lines, and the summaries if the interval ends.
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
