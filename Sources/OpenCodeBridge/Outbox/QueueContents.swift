/// What the queue's records amount to: a pure function of them.
struct QueueContents: Sendable {
    var queue = PostQueue()
    /// Delivered events and when they were delivered.
    private(set) var done: [String: EpochMilliseconds] = [:]
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
        case .began(let session):
            if runs.count < Bounds.sessionsMax { runs.insert(session) }
        case .ended(let session): runs.remove(session)
        }
    }

    /// Forgets deliveries before a time, and the oldest of too many.
    mutating func forget(deliveredBefore time: EpochMilliseconds) {
        done = done.filter { $0.value >= time }
        guard done.count > Bounds.doneMax else { return }
        let kept = done.sorted { $0.value > $1.value }.prefix(Bounds.doneMax)
        done = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
    }

    /// The fewest records that amount to the same.
    var records: [QueueRecord] {
        done.sorted { $0.value < $1.value }.map { .done(id: $0.key, at: $0.value) }
            + runs.map { .began($0) } + queue.events.map { .put($0) }
    }
}
