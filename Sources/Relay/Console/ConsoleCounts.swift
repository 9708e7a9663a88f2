import Instruments
import JSON
import Storage

/// The counts behind the console's charts, since the relay's start or in one interval.
struct ConsoleCounts: Sendable, Equatable {
    /// The results of a push, in the order of ``apns`` and ``webPush``.
    static let results = ["sent", "queued", "failed", "muted"]

    /// Events and notifications: accepted, refused (4xx) and failed (5xx).
    private(set) var events = [UInt64](repeating: 0, count: 3)
    /// Pushes through APNs, by ``results``.
    private(set) var apns = [UInt64](repeating: 0, count: results.count)
    /// Web pushes, by ``results``.
    private(set) var webPush = [UInt64](repeating: 0, count: results.count)
    /// Ends of queued pushes: sent and failed.
    private(set) var settled = [UInt64](repeating: 0, count: 2)
    /// Refusals because of a limit.
    private(set) var limited: UInt64 = 0
    /// Response times of events and notifications.
    private(set) var responses = DurationHistogram()
    /// Durations of attempts to send a push.
    private(set) var attempts = DurationHistogram()

    /// The counts since the relay's start.
    init(_ snapshot: MetricsSnapshot) {
        let counts = snapshot.loops.counts
        let routes = [RouteName.event, .events, .notify]
        for sample in counts.requestSamples where routes.map(\.label).contains(sample.labels[0]) {
            let place = sample.labels[1] < "400" ? 0 : sample.labels[1] < "500" ? 1 : 2
            events[place] += sample.count
        }
        for sample in counts.resultSamples {
            guard let place = Self.results.firstIndex(of: sample.labels[3]) else { continue }
            if sample.labels[0] == Device.Transport.webpush.rawValue {
                webPush[place] += sample.count
            } else {
                apns[place] += sample.count
            }
        }
        settled = [snapshot.queue.sent, snapshot.queue.failed.reduce(0, &+)]
        limited = counts.limits.reduce(0, &+)
        for (route, histogram) in zip(LoopCounts.routes, counts.requestDurations)
        where routes.contains(route) {
            responses.add(histogram)
        }
        for histogram in counts.attemptDurations + [counts.webPushDurations] { attempts.add(histogram) }
    }

    /// The counts since an earlier moment.
    func since(_ earlier: ConsoleCounts) -> ConsoleCounts {
        func difference(_ new: [UInt64], _ old: [UInt64]) -> [UInt64] { zip(new, old).map { $0 &- $1 } }
        var counts = self
        counts.events = difference(events, earlier.events)
        counts.apns = difference(apns, earlier.apns)
        counts.webPush = difference(webPush, earlier.webPush)
        counts.settled = difference(settled, earlier.settled)
        counts.limited &-= earlier.limited
        counts.responses = responses.since(earlier.responses)
        counts.attempts = attempts.since(earlier.attempts)
        return counts
    }

    /// Writes the members of an object.
    func write(to writer: inout JSON.Writer) {
        writer.member("events", events)
        writer.member("apns", apns)
        writer.member("webPush", webPush)
        writer.member("settled", settled)
        writer.name("limited")
        writer.int(limited)
        // Many intervals have no events; an empty list keeps them short.
        writer.member("responses", responses.count == 0 ? [] : responses.buckets)
        writer.member("attempts", attempts.count == 0 ? [] : attempts.buckets)
    }
}

extension Metric.Sample {
    /// The value of a counter.
    var count: UInt64 { if case .integer(let number) = value { UInt64(clamping: number) } else { 0 } }
}

extension JSON.Writer {
    /// A member with a list of integers.
    mutating func member(_ name: StaticString, _ numbers: [UInt64]) {
        self.name(name)
        beginArray()
        for number in numbers { int(number) }
        endArray()
    }
}
