public import PushSealing

/// Records in bounded space which of a key's messages were shown (docs/reference/encryption.md, "Replays").
public struct ReplayRecord: Sendable, Equatable, Codable {
    /// The maximum number of messages remembered.
    public static let entriesMax = 200
    /// How long after its time to live ends a message may still arrive, in seconds.
    public static let lateness = 300

    struct Entry: Sendable, Equatable, Codable {
        let id: String
        let sentAt: Int
    }

    private(set) var entries: [Entry] = []
    private(set) var floor: Int?

    /// Creates an empty record.
    public init() {}

    /// Remembers a message, or throws the reason why it must not be shown.
    ///
    /// - Parameter now: The phone's time, in seconds since 1970.
    public mutating func admit(_ message: SealedMessage, now: Int) throws(Refusal) {
        let (end, isEndless) = message.sentAt.addingReportingOverflow(
            (message.timeToLive ?? SealedMessage.timeToLiveDefault) + Self.lateness)
        guard isEndless || now <= end else { throw .stale }
        if let floor, message.sentAt <= floor { throw .repeated }
        guard !entries.contains(where: { $0.id == message.id }) else { throw .repeated }
        entries.append(Entry(id: message.id, sentAt: message.sentAt))
        guard entries.count > Self.entriesMax,
            let oldest = entries.indices.min(by: { entries[$0].sentAt < entries[$1].sentAt })
        else { return }
        floor = entries.remove(at: oldest).sentAt
    }
}

/// Where an app keeps its ``ReplayRecord``s: one per key, shared with its notification service extension.
public protocol ReplayStore: Sendable {
    /// Passes a key's record to a function, and stores the record as the function leaves it.
    ///
    /// No other process may change the record in the meantime: lock a file in the app group.
    func withRecord<Result>(
        of keyID: String, _ change: (inout ReplayRecord) throws(Refusal) -> Result
    ) throws(Refusal) -> Result
}
