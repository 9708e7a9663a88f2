import Network
import Programs
import Storage

/// Tracks whether the database can be written to: tries a write on request, and logs failure and recovery.
final class WriteWatch: Sendable {
    private struct State: BatchBuffer {
        var isFailing = false
        /// Whether ``run()`` hasn't noticed the failure yet.
        var isNew = false
        var isFinished = false
        var generator = IDGenerator()

        mutating func takeBatch() -> Void? {
            defer { isNew = false }
            return isNew ? () : nil
        }
    }

    private let storage: any DatabaseStatus
    private let clock: WallClock
    private let monotonic: @Sendable () -> MonotonicTime
    private let log: Log
    private let pause: @Sendable (Duration) async throws -> Void
    private let answer = SharedAnswer<StorageError?>()
    private let state = BatchWriter(State())

    /// Creates a watch that hasn't tried a write yet.
    init(
        storage: any DatabaseStatus, clock: WallClock = .system,
        monotonic: @escaping @Sendable () -> MonotonicTime = { .current }, log: Log,
        pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.storage = storage
        self.clock = clock
        self.monotonic = monotonic
        self.log = log
        self.pause = pause
    }

    /// Why the database can't be written to, as of at most ``Bounds/writeTrialInterval`` ago; `nil` if it can.
    ///
    /// The route is public, so a write is tried at most once per interval.
    func fault() async -> StorageError? {
        await fault(lifetime: Bounds.writeTrialInterval)
    }

    /// Why the database can't be written to now, for infrequent callers; `nil` if it can.
    func faultNow() async -> StorageError? {
        await fault(lifetime: .zero)
    }

    /// After a failure, retries until the database can be written to, so that recovery is logged even without requests.
    ///
    /// Ends when its task is cancelled.
    func run() async {
        await state.run {
            repeat {
                do { try await pause(Bounds.writeTrialInterval) } catch { return }
            } while await fault() != nil
        }
    }

    private func fault(lifetime: Duration) async -> StorageError? {
        await answer.value(at: monotonic(), lifetime: lifetime) { await tryWriting() }
    }

    private func tryWriting() async -> StorageError? {
        let now = clock.now
        let id = state.withBuffer { UUIDv7(at: now, using: &$0.generator) }
        do throws(StorageError) {
            try await storage.tryWriting(id: id, at: now)
            note(nil)
            return nil
        } catch {
            note(error)
            return error
        }
    }

    /// Records the result of an attempt to use the database; `nil` for a successful write.
    func note(_ error: StorageError?) {
        // The database is closed only by the relay's own shutdown.
        if case .closed? = error { return }
        let wasFailing = state.withBuffer { state in
            defer { state.isFailing = error != nil }
            return state.isFailing
        }
        if let error, !wasFailing {
            log(.error, "database.not_writable", [.storageError(error)])
            state.add { state in
                state.isNew = true
                return true
            }
        } else if error == nil, wasFailing {
            log(.info, "database.writable")
        }
    }
}
