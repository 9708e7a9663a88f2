import Storage

/// Opens the database when the relay starts, and waits for a server that is down.
struct DatabaseStart: Sendable {
    /// Where the database is, for a person.
    let place: String
    /// How long the server may be down; zero waits for nothing.
    let deadline: Duration
    let log: Log
    /// Whether the process was asked to stop meanwhile.
    let isStopping: @Sendable () -> Bool
    /// The time since some origin.
    var now: @Sendable () -> Duration = {
        let origin = ContinuousClock.now
        return { origin.duration(to: .now) }
    }()
    var pause: @Sendable (Duration) async -> Void = { duration in try? await Task.sleep(for: duration) }

    /// Tries until it succeeds, until nothing but a person can help, or until the deadline.
    func open<Opened>(
        _ attempt: () async throws(StorageError) -> Opened
    ) async throws(StartFailure) -> Opened {
        let end = now() + deadline
        var delay = Bounds.databaseStartDelayMin
        while true {
            do throws(StorageError) {
                return try await attempt()
            } catch {
                let left = end - now()
                guard error.isTransient, left > .zero else {
                    throw StartFailure(.unavailable, "\(place): \(error.logDetail)")
                }
                guard !isStopping() else {
                    throw StartFailure(.success, "stopped while waiting for \(place)")
                }
                delay = min(delay, left)
                log(
                    .warning, "database.waiting",
                    [
                        .note("database", place), .note("error", error.logDetail),
                        .note("again", DurationText.render(delay.wholeMilliseconds)),
                        .note("until", DurationText.render(left.wholeMilliseconds)),
                    ])
                await pause(delay)
                delay = min(delay * 2, Bounds.databaseStartDelayMax)
            }
        }
    }
}

extension Duration {
    /// As many milliseconds, at least one.
    fileprivate var wholeMilliseconds: Duration {
        .milliseconds(max(1, Int64(self / .milliseconds(1))))
    }
}
