/// The state that results from the queue's records: a pure function of them.
struct QueueContents: Sendable {
    var queue = PostQueue()
    /// Delivered events and when they were delivered.
    private(set) var done: [String: EpochMilliseconds] = [:]
    /// Events whose request was answered or withdrawn, and when.
    private(set) var over: [String: EpochMilliseconds] = [:]
    /// Unanswered requests that rang, by the IDs of their events, and when they rang.
    private(set) var rung: [String: (request: RungRequest, at: EpochMilliseconds)] = [:]
    /// Runs whose end wasn't seen.
    private(set) var runs: [SessionID: ResumedRun] = [:]

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
        case .over(let id, let at):
            over[id] = at
            rung[id] = nil
        case .rang(let request, let at):
            if rung.count < Bounds.requestsMax { rung[request.eventID] = (request, at) }
        case .began(let run):
            if runs.count < Bounds.sessionsMax { runs[run.session] = run }
        case .ended(let session): runs[session] = nil
        }
    }

    /// Replaces the waiting events before any of them is posted.
    mutating func replaceEvents(_ change: (QueuedEvent) -> QueuedEvent) {
        var changed = PostQueue()
        for event in queue.events { _ = changed.add(change(event)) }
        queue = changed
    }

    /// Forgets deliveries from before a time, and the oldest ones if there are too many.
    mutating func forget(deliveredBefore time: EpochMilliseconds) {
        done = Self.latest(done, since: time)
        over = Self.latest(over, since: time)
        rung = rung.filter { $0.value.at >= time }
    }

    private static func latest(_ times: [String: EpochMilliseconds], since time: EpochMilliseconds)
        -> [String: EpochMilliseconds]
    {
        let recent = times.filter { $0.value >= time }
        guard recent.count > Bounds.doneMax else { return recent }
        let kept = recent.sorted { $0.value > $1.value }.prefix(Bounds.doneMax)
        return Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
    }

    /// The fewest records that result in the same state.
    var records: [QueueRecord] {
        done.sorted { $0.value < $1.value }.map { .done(id: $0.key, at: $0.value) }
            + over.sorted { $0.value < $1.value }.map { .over(id: $0.key, at: $0.value) }
            + rung.values.sorted { $0.at < $1.at }.map { .rang($0.request, at: $0.at) }
            + runs.values.map { .began($0) } + queue.events.map { .put($0) }
    }
}
