import Network
import Programs
import Storage

/// Removes devices that haven't registered for a long time, and the locks of secrets without devices.
///
/// Walks over all of them, a bounded number per round, so that a database of any size needs no index for this and
/// other calls get their turn.
final class DeviceRetention: Sendable {
    private struct State {
        var device: DeviceCursor?
        var lock = ""
        var expired: UInt64 = 0
        var locksRemoved: UInt64 = 0
        var roundsToWait = Bounds.deviceUpkeepRoundsToWait
    }

    private let storage: any RegistrationStorage
    private let log: Log
    private let clock: WallClock
    /// How long a device may go without registering; `nil` for no limit.
    private let lifetime: Duration?
    private let state = Lock(State())

    /// Creates the retention for a relay that is starting now.
    init(storage: any RegistrationStorage, log: Log, clock: WallClock, lifetime: Duration?) {
        self.storage = storage
        self.log = log
        self.clock = clock
        self.lifetime = lifetime
    }

    /// How many devices this process has removed.
    var expired: UInt64 { state.withLock(\.expired) }

    /// How many locks of secrets without devices this process has removed.
    var locksRemoved: UInt64 { state.withLock(\.locksRemoved) }

    /// Makes the next rounds do nothing, because the clock was set.
    func noteClockStep() {
        state.withLock { $0.roundsToWait = Bounds.deviceUpkeepRoundsToWait }
    }

    /// Continues the walk, with pauses between steps.
    ///
    /// The first rounds after startup, or after the clock was set, do nothing: a clock that is far ahead
    /// would expire all devices, and is usually corrected soon. A storage error ends the round; the next
    /// continues from there.
    func round(pause: (Duration) async throws -> Void) async throws {
        let mayRemove = state.withLock { state in
            guard state.roundsToWait > 0 else { return true }
            state.roundsToWait -= 1
            return false
        }
        guard mayRemove else { return }
        for _ in 0..<Bounds.deviceUpkeepSteps {
            let isAtEnd: Bool
            do throws(StorageError) {
                isAtEnd = try await step()
            } catch {
                return log(
                    .warning, "maintenance.failed",
                    [.note("table", "device_registration"), .storageError(error)])
            }
            guard !isAtEnd else { return }
            try await pause(Bounds.upkeepPause)
        }
    }

    /// Takes a step of the walk; true once it has passed all devices and locks, and the next step starts over.
    private func step() async throws(StorageError) -> Bool {
        let (device, lock) = state.withLock { ($0.device, $0.lock) }
        let rows = Bounds.deviceUpkeepRowsPerStep
        if let lifetime, lock.isEmpty {
            let now = clock.now
            let pruning = try await storage.pruneDevices(
                before: now - lifetime.inMilliseconds, after: device, limit: rows, at: now)
            state.withLock { state in
                state.device = pruning.next
                state.expired += UInt64(pruning.removed)
            }
            if pruning.removed > 0 { log(.info, "devices.expired", [.count("devices", pruning.removed)]) }
            guard pruning.next == nil else { return false }
        }
        let pruning = try await storage.pruneLocks(after: lock, limit: rows)
        state.withLock { state in
            state.lock = pruning.next ?? ""
            state.locksRemoved += UInt64(pruning.removed)
        }
        return pruning.next == nil
    }
}
