import Network
import Programs
import Storage

/// Compares this machine's clock with the database server's, because relays sharing a database must agree on the time.
///
/// A relay whose clock differs by more than ``Bounds/clockSkewMax`` claims pushes that other relays are sending, or
/// loses its own pushes to them.
final class DatabaseClock: Sendable {
    private let storage: any DatabaseStatus
    private let clock: WallClock
    private let log: Log
    private let pause: @Sendable (Duration) async throws -> Void
    private let differs = Lock(false)

    /// Creates a value that hasn't compared the clocks yet.
    init(
        storage: any DatabaseStatus, clock: WallClock, log: Log,
        pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.storage = storage
        self.clock = clock
        self.log = log
        self.pause = pause
    }

    /// Whether the clocks differed too much at the last comparison.
    var isOff: Bool { differs.withLock(\.self) }

    /// Checks that the database responds, and compares the clocks.
    func ping() async throws(StorageError) {
        guard let reading = try await storage.ping(now: { [clock] in clock.now }) else { return }
        let isOff = abs(reading.ahead) > Bounds.clockSkewMax.inMilliseconds
        let wasOff = differs.withLock { differs in
            defer { differs = isOff }
            return differs
        }
        guard isOff != wasOff else { return }
        let seconds = LogField.note("seconds_ahead", "\(reading.ahead / 1_000)")
        if isOff { log(.error, "clock.differs", [seconds]) } else { log(.info, "clock.agrees", [seconds]) }
    }

    /// Compares the clocks periodically until its task is cancelled.
    func run() async {
        repeat {
            // Failures are reported by the code that uses the database.
            try? await ping()
        } while (try? await pause(Bounds.databaseClockInterval)) != nil
    }
}
