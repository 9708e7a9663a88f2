import Network

/// A ring that is being prepared.
struct PendingRing: Sendable, Equatable {
    enum Cause: Sendable, Equatable {
        /// A run ended; without an outcome, the session's last message must show it.
        case ended(Outcome?)
        /// A run failed.
        case failed(RunError)
        /// An error occurred outside a run.
        case error(RunError)
        /// A request wasn't answered in time.
        case request(RequestID)
    }

    enum Stage: Sendable, Equatable {
        /// The session's root isn't known yet.
        case resolving
        /// A descendant is busy, or was until the given time.
        case holding(quietSince: MonotonicTime?)
        /// The session is being read.
        case reading(root: SessionID)
        /// The session has no title yet and is read again at this time.
        case untitled(until: MonotonicTime)
    }

    /// The session in which the cause occurred.
    let session: SessionID
    var cause: Cause
    let since: MonotonicTime
    /// The server's identifier for the event, if it has one.
    let mark: String?
    /// The API that the run used; `nil` for the server's own.
    var api: Generation?
    /// Whether no event reported the end.
    var isFound = false
    /// Whether the run itself was missed, if there was one.
    var isGuessed = false
    var stage = Stage.resolving
    /// How many times the session has been read.
    var reads = 0

    /// Whether the ring announces the end of a run that isn't known to have failed.
    var isEnd: Bool { if case .ended = cause { true } else { false } }

    /// Whether the ring announces an error outside a run.
    var isRunless: Bool { if case .error = cause { true } else { false } }

    /// The request that the ring is about.
    var requestID: RequestID? { if case .request(let id) = cause { id } else { nil } }

    /// How the run ended, according to events and the messages read; `nil` if unknown.
    func outcome(_ reading: Reading?) -> Outcome? {
        switch cause {
        case .request: return nil
        case .failed(let error), .error(let error): return .failed(error)
        case .ended where isGuessed && reading?.isRecorded != true: return nil
        case .ended(let known):
            if reading?.outcome == .summarized { return .summarized }
            // A run that is over although its last message is unfinished was lost together with its server.
            return known ?? reading?.outcome ?? (isFound && reading?.isUnfinished == true ? .stopped : nil)
        }
    }
}

extension RunModel {
    /// Drops pending rings and records that their runs are done.
    mutating func dropPending(where isDropped: (PendingRing) -> Bool) {
        for (id, ring) in pending where isDropped(ring) { drop(id) }
    }

    private mutating func drop(_ id: RingID) {
        unread.remove(id)
        guard let ring = pending.removeValue(forKey: id), ring.requestID == nil else { return }
        if tree[ring.session]?.run == nil, !ring.isGuessed { actions.append(.ended(ring.session)) }
    }

    /// Advances every ring whose condition may have changed.
    mutating func advanceAll(_ now: MonotonicTime) {
        for id in unread.sorted() { advance(id, now) }
    }

    /// Advances a ring as far as the known state allows.
    mutating func advance(_ id: RingID, _ now: MonotonicTime) {
        guard var ring = pending[id] else { return }
        switch ring.stage {
        case .reading: return
        case .untitled(let time) where now < time: return
        default: break
        }
        let root: SessionID
        switch tree.root(of: ring.session) {
        case .unknown(let ancestor):
            if !see(ancestor, nil, now) { drop(id) }
            return
        case .root(let session): root = session
        }
        if ring.requestID == nil, root != ring.session { return drop(id) }
        if ring.isEnd, !isQuiet(root, &ring, now) {
            pending[id] = ring
            return
        }
        ring.stage = .reading(root: root)
        ring.reads += 1
        pending[id] = ring
        unread.remove(id)
        guard root != .global else { return finish(id, nil, now) }
        actions.append(
            .read(
                id, root, directory: tree[root]?.directory, needsOutcome: ring.cause == .ended(nil),
                api: ring.api))
    }

    /// Whether no descendant is running or waiting; a tree that was busy must first stay quiet for a while.
    private func isQuiet(_ root: SessionID, _ ring: inout PendingRing, _ now: MonotonicTime) -> Bool {
        if now.since(ring.since) >= Bounds.holdMax { return true }
        guard !tree.hasWork(below: root, requests: requests) else {
            ring.stage = .holding(quietSince: nil)
            return false
        }
        switch ring.stage {
        case .holding(let since?): return now.since(since) >= options.quietGrace
        case .holding(nil):
            ring.stage = .holding(quietSince: now)
            return false
        default: return true
        }
    }

    /// Handles a session's texts: the last step before the ring.
    mutating func finish(_ id: RingID, _ reading: Reading?, _ now: MonotonicTime) {
        guard var ring = pending[id], case .reading(let root) = ring.stage else { return }
        if ring.isEnd, !isQuiet(root, &ring, now) {
            pending[id] = ring
            unread.insert(id)
            return
        }
        if let title = reading?.title { tree.update(root) { $0.title = NotificationText.name(title) } }
        let outcome = ring.outcome(reading)
        if outcome?.rings == true, let reading, reading.title == nil, ring.reads < Bounds.titleReadsMax {
            ring.stage = .untitled(until: now + Bounds.titlePause)
            pending[id] = ring
            unread.insert(id)
            return
        }
        pending[id] = nil
        if case .request(let request) = ring.cause { return ringRequest(request, root, reading, now) }
        defer { if tree[root]?.run == nil, !ring.isGuessed { actions.append(.ended(root)) } }
        // Errors outside a run are identified by their own marks, runs by their last message.
        var mark = reading?.mark ?? ring.mark
        if ring.isRunless {
            mark = ring.mark ?? mark
        } else {
            // The server's list of running sessions can lag behind: the same end may be found twice.
            if ring.cause == .ended(nil), let mark, tree[root]?.lastEnd == mark { return }
            // Without the session's messages, an end can't be distinguished from an earlier one.
            tree.update(root) { $0.lastEnd = reading?.mark ?? (ring.isGuessed ? $0.lastEnd : nil) }
        }
        guard let outcome, outcome.rings else { return }
        if !ring.isRunless, tree[root]?.run == nil { tree.update(root) { $0.hasRung = true } }
        let name = title(root, reading)
        switch outcome {
        case .failed(let error): post(.error, root, mark, name, error.message, now)
        case .stopped: post(.error, root, mark, name, RunError.stopped.message, now)
        default: post(.complete, root, mark, name, reading?.text.map(NotificationText.plain), now)
        }
    }

    /// Reads the idle sessions after a gap, and rings if another run began and ended during the gap.
    mutating func findMissedRuns(_ now: MonotonicTime) {
        let waiting = Set(pending.values.map(\.session))
        for session in tree.rested where !waiting.contains(session) {
            var ring = PendingRing(session: session, cause: .ended(nil), since: now, mark: nil)
            ring.isGuessed = true
            add(ring, now)
        }
    }

    private mutating func ringRequest(
        _ id: RequestID, _ root: SessionID, _ reading: Reading?, _ now: MonotonicTime
    ) {
        guard var asked = requests[id]?.request else { return }
        requests[id]?.stage = .rung
        asked.directory = asked.directory ?? tree[asked.session]?.directory
        let name = asked.asker ?? title(root, reading)
        let ring = Ring(
            type: .permission, session: root, key: key(.permission, root, asked.mark, now),
            title: NotificationText.title(.permission, session: name, isQuestion: asked.kind == .question),
            body: NotificationText.body(asked, showsDetails: options.showsCommands), request: asked,
            name: name)
        actions.append(.ring(ring))
    }

    private mutating func post(
        _ type: EventType, _ root: SessionID, _ mark: String?, _ title: String?, _ text: String?,
        _ now: MonotonicTime
    ) {
        let ring = Ring(
            type: type, session: root, key: key(type, root, mark, now),
            title: NotificationText.title(type, session: title),
            body: NotificationText.body(type, text: text), name: title)
        actions.append(.ring(ring))
    }

    /// A ring's identity, which depends on the time only if the event has no mark.
    private func key(_ type: EventType, _ root: SessionID, _ mark: String?, _ now: MonotonicTime) -> String {
        "\(type.rawValue) \(root) \(mark ?? "at \(now.nanoseconds)")"
    }

    /// The session's title, or its directory's name.
    private func title(_ root: SessionID, _ reading: Reading?) -> String? {
        if let title = reading?.title ?? tree[root]?.title { return title }
        let directory = reading?.directory ?? tree[root]?.directory
        return directory?.split(separator: "/").last.map(String.init)
    }
}

extension Outcome {
    /// Whether the end of a run rings.
    fileprivate var rings: Bool {
        switch self {
        case .completed, .stopped: true
        case .failed(let error): !SilentError.isAbort(error.name)
        case .interrupted, .summarized: false
        }
    }
}
