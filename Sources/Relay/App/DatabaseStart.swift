import Delays
import Storage

/// Opens the database at startup; waits for a server that is down or for another relay to release the file.
struct DatabaseStart: Sendable {
    /// The database's location, for messages.
    let place: String
    let engine: DatabaseEngine
    /// How long to wait for the server; zero waits only for another relay to release a file.
    let deadline: Duration
    let log: Log
    /// Whether the process was asked to stop in the meantime.
    let isStopping: @Sendable () -> Bool
    /// The time since some origin.
    var now: @Sendable () -> Duration = {
        let origin = ContinuousClock.now
        return { origin.duration(to: .now) }
    }()
    var pause: @Sendable (Duration) async -> Void = { duration in try? await Task.sleep(for: duration) }

    /// Retries until it succeeds, hits a permanent error, or reaches the deadline.
    func open<Opened>(
        _ attempt: () async throws(StorageError) -> Opened
    ) async throws(StartError) -> Opened {
        let began = now()
        var backOff = Bounds.databaseStartBackOff
        while true {
            do throws(StorageError) {
                return try await attempt()
            } catch {
                let isInUse = if case .inUse = error { true } else { false }
                let left = began + (isInUse ? Bounds.databaseFileDeadline : deadline) - now()
                guard isInUse || error.isTransient, left > .zero else {
                    throw StartError(
                        DatabaseCheck.finding(error, place: place, engine), of: Precondition(.database))
                }
                guard !isStopping() else {
                    throw StartError(stopped: "stopped while waiting for \(place)")
                }
                let delay = min(backOff.next(), left)
                log(
                    .warning, "database.waiting",
                    [
                        .note("database", place), .note("error", error.logDetail),
                        .note("again", DurationText.render(delay.wholeMilliseconds)),
                        .note("until", DurationText.render(left.wholeMilliseconds)),
                    ])
                await pause(delay)
            }
        }
    }
}

extension Duration {
    /// Rounded down to whole milliseconds, at least one.
    fileprivate var wholeMilliseconds: Duration {
        .milliseconds(max(1, Int64(self / .milliseconds(1))))
    }
}
