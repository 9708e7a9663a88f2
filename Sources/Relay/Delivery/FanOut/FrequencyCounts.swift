import Network
import Programs
import Storage

/// Counts recent pushes to devices that limit their pushes per hour or per day.
///
/// The count comes from the delivery log, read at most every few seconds per secret, plus the pushes that this process
/// has sent since or is sending. Several relays together may therefore exceed a limit by the pushes that they send
/// between two reads.
final class FrequencyCounts: Sendable {
    /// One event's pushes that count against their devices' limits until they have results.
    struct Reservation {
        /// The `id`s of the devices that have reached their limit.
        var full: Set<String> = []
        /// The `id`s of the other devices with a limit.
        fileprivate(set) var taken: Set<String> = []
    }

    private struct Known {
        let readAt: MonotonicTime
        var counts: [String: SentCount]
    }

    private struct State {
        var known: [SecretHash: Known] = [:]
        /// The number of pushes in flight, by device.
        var reserved: [SecretHash: [String: Int]] = [:]

        func isFresh(_ secret: SecretHash, at moment: MonotonicTime) -> Bool {
            known[secret].map { moment.since($0.readAt) < Bounds.frequencyCountAgeMax } ?? false
        }
    }

    private let state = Lock(State())

    private static let hour: EpochMilliseconds = 3_600_000

    /// Reserves a push for each device that has a limit and hasn't reached it, until ``settle(_:_:of:)``.
    ///
    /// If the database doesn't respond, no device is treated as having reached its limit.
    nonisolated(nonsending) func reserve(
        for recipients: Recipients, of key: SecretKey, at now: EpochMilliseconds, _ moment: MonotonicTime,
        in storage: any DeliveryLogStorage
    ) async -> Reservation {
        let secret = key.primary
        if !state.withLock({ $0.isFresh(secret, at: moment) }) {
            guard
                let read = try? await storage.countSent(
                    of: key, since: now - 24 * Self.hour, recentlySince: now - Self.hour,
                    before: now + Bounds.clockSkewMax.inMilliseconds)
            else { return Reservation() }
            state.withLock { state in
                // The first of several concurrent reads is kept, because pushes may have been added since.
                guard !state.isFresh(secret, at: moment) else { return }
                if state.known.count >= Bounds.frequencySecretsMax { state.known = [:] }
                state.known[secret] = Known(readAt: moment, counts: read)
            }
        }
        return state.withLock { state in
            var reservation = Reservation()
            for index in recipients.indices {
                let preferences = recipients.preferences(index)
                guard preferences.hasFrequency else { continue }
                let id = recipients.devices[index].id
                let sent = state.known[secret]?.counts[id] ?? SentCount()
                let open = state.reserved[secret]?[id] ?? 0
                if sent.recent + open >= preferences.perHour ?? .max
                    || sent.all + open >= preferences.perDay ?? .max
                {
                    reservation.full.insert(id)
                } else {
                    state.reserved[secret, default: [:]][id] = open + 1
                    reservation.taken.insert(id)
                }
            }
            return reservation
        }
    }

    /// Ends a reservation, and adds the pushes that were sent or queued to the count from the log.
    func settle(_ reservation: Reservation, _ results: [DeviceResult], of key: SecretKey) {
        let secret = key.primary
        state.withLock { state in
            for id in reservation.taken {
                let open = state.reserved[secret]?[id] ?? 0
                state.reserved[secret]?[id] = open > 1 ? open - 1 : nil
            }
            if state.reserved[secret]?.isEmpty == true { state.reserved[secret] = nil }
            guard state.known[secret] != nil else { return }
            for index in results.indices where results[index].isDelivered {
                state.known[secret]?.counts[results[index].deviceID, default: SentCount()].all += 1
                state.known[secret]?.counts[results[index].deviceID, default: SentCount()].recent += 1
            }
        }
    }
}

extension DeviceResult {
    /// Whether the device gets the push, now or after a retry.
    fileprivate var isDelivered: Bool {
        switch status {
        case .sent: activity == nil
        case .queued(let reason): activity == nil && reason != FailureReason.quietHours
        case .failed, .muted: false
        }
    }
}
