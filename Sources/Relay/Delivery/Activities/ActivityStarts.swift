import Network
import Storage

/// Counts the Live Activities that this process started on each device within the last hour.
///
/// Storage counts starts per registration; this type counts them per device, because a device can register again or
/// under several secrets. The memory is bounded: devices beyond ``Bounds/activityStartDevicesMax`` aren't counted.
final class ActivityStarts: Sendable {
    /// An installation of an app; a device without an installation ID is identified by its token.
    private struct Key: Hashable {
        let app: FoldedBundleID
        let name: String
    }

    private let times = Lock<[Key: [MonotonicTime]]>([:])

    private static let interval = Duration.milliseconds(StorageLimits.activityStartInterval)

    /// Counts a start; false if the device has reached the limit.
    func take(_ device: Device, at now: MonotonicTime) -> Bool {
        let key = Self.key(of: device)
        return times.withLock { times in
            var recent = times[key, default: []].filter { now.since($0) < Self.interval }
            guard recent.count < StorageLimits.activityStartsMax else { return false }
            if times[key] == nil, times.count >= Bounds.activityStartDevicesMax {
                times = times.filter { $0.value.last.map { now.since($0) < Self.interval } ?? false }
                guard times.count < Bounds.activityStartDevicesMax else { return true }
            }
            recent.append(now)
            times[key] = recent
            return true
        }
    }

    /// Forgets the last start on a device, because its push failed.
    func giveBack(_ device: Device) {
        times.withLock { _ = $0[Self.key(of: device)]?.popLast() }
    }

    private static func key(of device: Device) -> Key {
        Key(app: FoldedBundleID(device.bundleID), name: device.details.installationID ?? device.token)
    }
}
