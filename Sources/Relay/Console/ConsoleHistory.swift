import JSON
import Network
import Programs
import Storage

/// One interval of the console's charts: its counts, and the state at its end.
struct ConsoleSample: Sendable, Equatable {
    /// The interval's number, counted without gaps since the relay's start.
    let number: Int
    /// When the interval ended.
    let time: EpochMilliseconds
    let counts: ConsoleCounts
    let waiting: Int
    let oldestDueAge: EpochMilliseconds
    let connections: Int
    let pushesInFlight: Int

    init(number: Int, counts: ConsoleCounts, _ snapshot: MetricsSnapshot) {
        self.number = number
        self.counts = counts
        time = snapshot.time
        waiting = snapshot.queue.waiting
        oldestDueAge = snapshot.queueAge
        connections = snapshot.connections
        pushesInFlight = snapshot.loops.pushesInFlight
    }

    /// Writes the sample as an object.
    func write(to writer: inout JSON.Writer) {
        writer.beginObject()
        writer.member("number", number)
        writer.member("time", time)
        counts.write(to: &writer)
        writer.member("waiting", waiting)
        writer.member("oldestDueAge", oldestDueAge)
        writer.member("connections", connections)
        writer.member("pushesInFlight", pushesInFlight)
        writer.endObject()
    }
}

extension MetricsSnapshot {
    /// How long the oldest queued push has been due, in milliseconds; 0 if none is.
    var queueAge: EpochMilliseconds { queue.oldestDue.map { max(0, time - $0) } ?? 0 }
}

/// Keeps the last hour of the relay's counters in memory, so that the console can draw them when it is opened.
final class ConsoleHistory: Sendable {
    private struct State: Sendable {
        /// Oldest first.
        var samples: [ConsoleSample] = []
        var latest: ConsoleCounts?
        var count = 0
    }

    private let state = Lock(State())

    /// Adds an interval that ends now; the first call only starts one.
    func record(_ snapshot: MetricsSnapshot) {
        let counts = ConsoleCounts(snapshot)
        state.withLock { state in
            if let latest = state.latest {
                state.count += 1
                state.samples.append(
                    ConsoleSample(number: state.count, counts: counts.since(latest), snapshot))
                if state.samples.count > Bounds.consoleSamplesMax { state.samples.removeFirst() }
            }
            state.latest = counts
        }
    }

    /// The samples after a number, oldest first.
    func samples(after number: Int) -> [ConsoleSample] {
        state.withLock { $0.samples.filter { $0.number > number } }
    }

    /// Records until the task is cancelled; an interval in which a loop doesn't respond becomes part of the next.
    func run(_ snapshot: @Sendable () async -> MetricsSnapshot?) async {
        repeat {
            if let snapshot = await snapshot() { record(snapshot) }
        } while (try? await Task.sleep(for: Bounds.consoleInterval)) != nil
    }
}
