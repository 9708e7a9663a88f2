import Network
import Storage

extension PushQueue {
    /// How the queue stands, as far as this process has seen.
    struct Figures: Sendable, Equatable {
        /// About how many pushes wait in all.
        var waiting = 0
        /// When the first of those that nobody holds is due, as of the last look; `nil` when none waits.
        var oldestDue: EpochMilliseconds?
        /// Registrations that went with the end of a push.
        var devicesRemoved: UInt64 = 0
        private var sent: UInt64 = 0
        private var again: UInt64 = 0
        /// By ``KnownReasons``.
        private var failed = [UInt64](repeating: 0, count: KnownReasons.words.count)

        /// Counts the end of a hold.
        mutating func count(_ end: Settlement.End) {
            guard case .over(let delivery) = end else {
                again += 1
                return
            }
            waiting = max(0, waiting - 1)
            switch delivery.status {
            case .sent: sent += 1
            case .failed: failed[KnownReasons.number(of: delivery.error ?? "")] += 1
            }
        }

        /// Result and reason of what was settled.
        var settledSamples: [Metric.Sample] {
            [
                Metric.Sample(["sent", LoopCounts.noReason], sent),
                Metric.Sample(["again", LoopCounts.noReason], again),
            ]
                + zip(KnownReasons.words, failed).filter { $0.1 > 0 }.map {
                    Metric.Sample(["failed", $0.0], $0.1)
                }
        }
    }

    /// How the queue stands.
    var figures: Figures { state.withLock(\.figures) }
}
