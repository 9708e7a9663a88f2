import Network
import Storage

/// How many pushes the devices got lately that want only a number of them in an hour or a day.
///
/// Counted in the delivery log, at most every few seconds for a secret, plus what this process has sent since. So several
/// relays may together exceed a number by what they send within these seconds.
final class FrequencyCounts: Sendable {
    private struct Known {
        let readAt: MonotonicTime
        var counts: [String: SentCount]
    }

    private let known = Lock<[SecretHash: Known]>([:])

    private static let hour: EpochMilliseconds = 3_600_000

    /// The `id`s of those devices that have had as many pushes as they want.
    ///
    /// If the database can't be asked, no device has.
    nonisolated(nonsending) func full(
        among devices: [Device], of key: SecretKey, at now: EpochMilliseconds, _ moment: MonotonicTime,
        in storage: any DeliveryLogStorage
    ) async -> Set<String> {
        var counts = known.withLock { known in
            known[key.primary].flatMap {
                moment.since($0.readAt) < Bounds.frequencyCountAgeMax ? $0.counts : nil
            }
        }
        if counts == nil {
            guard
                let read = try? await storage.countSent(
                    of: key, since: now - 24 * Self.hour, recentlySince: now - Self.hour,
                    before: now + Bounds.clockSkewMax.inMilliseconds)
            else { return [] }
            counts = read
            known.withLock { known in
                if known.count >= Bounds.frequencySecretsMax { known = [:] }
                known[key.primary] = Known(readAt: moment, counts: read)
            }
        }
        return Set(
            devices.filter { device in
                guard device.hasFrequency, let preferences = device.details.preferences else { return false }
                let wanted = DevicePreferences(stored: preferences)
                let count = counts?[device.id] ?? SentCount()
                return count.recent >= wanted.perHour ?? .max || count.all >= wanted.perDay ?? .max
            }.map(\.id))
    }

    /// Counts pushes that were sent or queued, until the log has them.
    func note(_ results: [DeviceResult], of key: SecretKey) {
        known.withLock { known in
            guard known[key.primary] != nil else { return }
            for index in results.indices where results[index].isDelivered {
                known[key.primary]?.counts[results[index].deviceID, default: SentCount()].all += 1
                known[key.primary]?.counts[results[index].deviceID, default: SentCount()].recent += 1
            }
        }
    }
}

extension Device {
    /// Whether it may have a limit; the text is searched, since parsing it costs more.
    var hasFrequency: Bool {
        details.preferences.map { $0.contains(#""perHour""#) || $0.contains(#""perDay""#) } ?? false
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
