import Network
import Storage

extension PushQueue {
    /// The app of a removed registration.
    struct RemovedApp: Hashable, Sendable {
        let bundleID: String
        let environment: DeviceEnvironment
    }

    /// The queue's state as seen by this process.
    struct Figures: Sendable, Equatable {
        /// Approximate number of queued pushes.
        var waiting = 0
        /// Approximate size of the queued pushes' payloads, in bytes.
        var waitingBytes = 0
        /// When the oldest unleased push is due, as of the last poll; `nil` if none is queued.
        var oldestDue: EpochMilliseconds?
        /// Ends not written to the database yet.
        var unwritten = 0
        /// Registrations removed together with the end of a push.
        private(set) var removed: [RemovedApp: UInt64] = [:]
        private(set) var sent: UInt64 = 0
        private(set) var again: UInt64 = 0
        /// Failures, by ``KnownReasons``.
        private(set) var failed = [UInt64](repeating: 0, count: KnownReasons.words.count)

        /// Counts a removed registration; the number of distinct bundle IDs is limited, because strangers choose them.
        mutating func countRemoved(_ device: Device) {
            var app = RemovedApp(bundleID: device.bundleID, environment: device.environment)
            if removed[app] == nil, removed.count >= 2 * Bounds.metricsAppsMax {
                app = RemovedApp(bundleID: KnownReasons.other, environment: device.environment)
            }
            removed[app, default: 0] += 1
        }

        /// Counts the end of a lease.
        mutating func count(_ end: Settlement.End) {
            guard case .over(let delivery) = end else {
                again += 1
                return
            }
            // The push's size isn't known here; the average is close enough until the next count.
            waitingBytes -= waitingBytes / max(1, waiting)
            waiting = max(0, waiting - 1)
            switch delivery.status {
            case .sent: sent += 1
            case .failed: failed[KnownReasons.number(of: delivery.error ?? "")] += 1
            }
        }
    }

    /// The queue's state.
    var figures: Figures {
        writer.withBuffer { state in
            var figures = state.figures
            figures.unwritten = state.unwritten.count
            return figures
        }
    }
}
