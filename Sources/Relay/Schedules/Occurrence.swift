import Storage

/// An occurrence to send.
struct Occurrence: Sendable {
    let schedule: Schedule
    /// The occurrence's nominal time.
    let nominal: EpochMilliseconds
    /// The names of the time zones whose devices get the occurrence; `nil` for all devices.
    var zones: Set<String>?

    /// The `eventID` of the occurrence's receipt, the same for every attempt.
    var receiptID: String { Self.receiptID(of: schedule.id, at: nominal) }

    /// The `eventID` of a schedule's occurrence at a nominal time.
    static func receiptID(of schedule: UUIDv7, at nominal: EpochMilliseconds) -> String {
        "sched:\(schedule):\(nominal)"
    }

    /// An `eventID` as long as any occurrence's, for measuring content before it is scheduled.
    static let receiptIDSample =
        "sched:" + String(repeating: "0", count: 36) + ":" + String(repeating: "0", count: 13)
}

/// The result of an attempt to send an occurrence.
enum OccurrenceResult: Sendable, Equatable {
    case over(ScheduleQueue.Outcome)
    /// Nothing was sent; retry after this number of seconds.
    case postponed(ScheduleQueue.Postponement, seconds: Int)
}
