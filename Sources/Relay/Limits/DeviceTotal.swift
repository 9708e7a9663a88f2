import Network
import Storage

/// The number of devices in the database, for `RELAY_DEVICES_MAX`.
///
/// The count may be a few seconds old, so several relays or concurrent registrations may exceed the maximum slightly.
/// Counting takes longer with more devices, so the pause between counts grows with the duration of the last count.
final class DeviceTotal: Sendable {
    private struct State {
        /// The last count, plus the devices that this process has added since then.
        var count: Int?
        /// Devices that this process has added since the current count began.
        var added = 0
        var isCounting = false
        var nextCount = MonotonicTime(nanoseconds: 0)
    }

    /// The maximum number of devices.
    let max: Int
    private let storage: any RegistrationStorage
    private let monotonic: @Sendable () -> MonotonicTime
    private let state = Lock(State())

    /// Creates a total that hasn't been counted yet; `nil` for a maximum of 0, which means no limit.
    init?(
        max: Int, storage: any RegistrationStorage,
        monotonic: @escaping @Sendable () -> MonotonicTime = { .current }
    ) {
        guard max > 0 else { return nil }
        self.max = max
        self.storage = storage
        self.monotonic = monotonic
    }

    /// The last count, which stops at ``max``, plus the devices added since then; `nil` before the first count.
    var count: Int? { state.withLock(\.count) }

    /// Refuses a new device if the maximum is reached; counts first if the last count is old.
    ///
    /// - Throws: `relay_full`, or the error that prevented counting.
    func checkRoom() async throws(APIError) {
        if isCountDue() { try await recount() }
        guard (count ?? 0) < max else { throw APIError(.relayFull, limit: .devicesTotal) }
    }

    /// Records a new device.
    func added() {
        state.withLock { state in
            state.added += 1
            if let count = state.count { state.count = count + 1 }
        }
    }

    private func isCountDue() -> Bool {
        let now = monotonic()
        return state.withLock { state in
            guard !state.isCounting, now >= state.nextCount else { return false }
            state.isCounting = true
            state.added = 0
            return true
        }
    }

    private func recount() async throws(APIError) {
        let began = monotonic()
        let found: Result<Int, StorageError>
        do throws(StorageError) {
            found = .success(try await storage.countDevices(limit: max))
        } catch {
            found = .failure(error)
        }
        let ended = monotonic()
        state.withLock { state in
            state.isCounting = false
            guard case .success(let count) = found else { return }
            state.count = count + state.added
            let pause = Swift.max(
                Bounds.deviceCountAgeMax, ended.since(began) * Bounds.deviceCountRest)
            state.nextCount = ended + pause
        }
        if case .failure(let error) = found { throw APIError(error) }
    }
}
