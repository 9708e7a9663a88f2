/// What the queue's records amount to: a pure function of them.
struct QueueContents: Sendable {
    var queue = PostQueue()
    /// Delivered events and when they were delivered.
    private(set) var done: [String: EpochMilliseconds] = [:]
    /// Events whose request was answered or withdrawn, and when.
    private(set) var over: [String: EpochMilliseconds] = [:]
    /// Runs whose end wasn't seen.
    private(set) var runs: Set<SessionID> = []

    /// Applies the next record.
    mutating func apply(_ record: QueueRecord) {
        switch record {
        case .put(let event):
            if done[event.id] == nil {
                for dropped in queue.add(event) { done[dropped.id] = dropped.at }
            }
        case .done(let id, let at):
            done[id] = at
            queue.remove(id: id)
        case .over(let id, let at): over[id] = at
        case .began(let session):
            if runs.count < Bounds.sessionsMax { runs.insert(session) }
        case .ended(let session): runs.remove(session)
        }
    }

    /// Forgets deliveries before a time, and the oldest of too many.
    mutating func forget(deliveredBefore time: EpochMilliseconds) {
        done = Self.latest(done, since: time)
        over = Self.latest(over, since: time)
    }

    private static func latest(_ times: [String: EpochMilliseconds], since time: EpochMilliseconds)
        -> [String: EpochMilliseconds]
    {
        let recent = times.filter { $0.value >= time }
        guard recent.count > Bounds.doneMax else { return recent }
        let kept = recent.sorted { $0.value > $1.value }.prefix(Bounds.doneMax)
        return Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
    }

    /// The fewest records that amount to the same.
    var records: [QueueRecord] {
        done.sorted { $0.value < $1.value }.map { .done(id: $0.key, at: $0.value) }
            + over.sorted { $0.value < $1.value }.map { .over(id: $0.key, at: $0.value) }
            + runs.map { .began($0) } + queue.events.map { .put($0) }
    }
}
