import Network

/// A ring that is being prepared.
struct PendingRing: Sendable, Equatable {
    enum Cause: Sendable, Equatable {
        /// A run ended; without an outcome the session's last message has to tell it.
        case ended(Outcome?)
        /// A run failed with an error of this name.
        case failed(String?)
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
    }

    /// The session in which it happened.
    let session: SessionID
    let cause: Cause
    let since: MonotonicTime
    /// Identifies what happened, if the server does.
    let mark: String?
    var stage = Stage.resolving

    /// Whether it announces the end of a run that wasn't known to fail.
    var isEnd: Bool { if case .ended = cause { true } else { false } }

    /// The request that it is about.
    var requestID: RequestID? { if case .request(let id) = cause { id } else { nil } }
}

extension RunModel {
    /// Drops pending rings and remembers that their runs are done.
    mutating func dropPending(where isDropped: (PendingRing) -> Bool) {
        for (id, ring) in pending where isDropped(ring) { drop(id) }
    }

    private mutating func drop(_ id: RingID) {
        unread.remove(id)
        guard let ring = pending.removeValue(forKey: id), ring.requestID == nil else { return }
        if tree[ring.session]?.run == nil { actions.append(.ended(ring.session)) }
    }

    /// Moves every ring on whose condition may have changed.
    mutating func advanceAll(_ now: MonotonicTime) {
        for id in unread.sorted() { advance(id, now) }
    }

    /// Moves a ring on as far as what is known allows.
    mutating func advance(_ id: RingID, _ now: MonotonicTime) {
        guard var ring = pending[id] else { return }
        if case .reading = ring.stage { return }
        let root: SessionID
        switch tree.root(of: ring.session) {
        case .unknown(let ancestor):
            _ = see(ancestor, nil, now)
            return
        case .root(let session): root = session
        }
        if ring.requestID == nil, root != ring.session { return drop(id) }
        if ring.isEnd, !isQuiet(root, &ring, now) {
            pending[id] = ring
            return
        }
        ring.stage = .reading(root: root)
        pending[id] = ring
        unread.remove(id)
        let needsOutcome = ring.cause == .ended(nil)
        actions.append(.read(id, root, directory: tree[root]?.directory, needsOutcome: needsOutcome))
    }

    /// Whether no descendant works or waits; a tree that wasn't quiet has to stay quiet for a while.
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
        pending[id] = nil
        defer { if ring.requestID == nil, tree[root]?.run == nil { actions.append(.ended(root)) } }
        switch ring.cause {
        case .request(let request): ringRequest(request, root, reading, now)
        case .failed: ringError(ring, root, reading, now)
        case .ended(let known):
            let mark = reading?.mark ?? ring.mark
            // The server's list of running sessions can lag behind: the same end may be found twice.
            if known == nil, let mark, tree[root]?.lastEnd == mark { return }
            tree.update(root) { $0.lastEnd = mark }
            switch known ?? reading?.outcome {
            case .completed: post(.complete, root, mark, reading?.title, reading?.text, now)
            case .failed(let name) where !SilentError.isAbort(name) && !SilentError.isOverflow(name):
                ringError(ring, root, reading, now)
            default: break
            }
        }
    }

    private mutating func ringRequest(
        _ id: RequestID, _ root: SessionID, _ reading: Reading?, _ now: MonotonicTime
    ) {
        guard let request = requests[id]?.request else { return }
        requests[id]?.stage = .rung
        let text = options.showsCommands ? request.detail ?? reading?.text : reading?.text
        var asked = request
        asked.directory = asked.directory ?? tree[asked.session]?.directory
        post(
            .permission, root, asked.mark, reading?.title, text, now, asked)
    }

    private mutating func ringError(
        _ ring: PendingRing, _ root: SessionID, _ reading: Reading?, _ now: MonotonicTime
    ) {
        let mark = reading?.mark ?? ring.mark
        tree.update(root) { $0.lastEnd = mark ?? $0.lastEnd }
        post(.error, root, mark, reading?.title, reading?.text, now)
    }

    private mutating func post(
        _ type: EventType, _ root: SessionID, _ mark: String?, _ title: String?, _ text: String?,
        _ now: MonotonicTime, _ request: Request? = nil
    ) {
        // Two requests are two questions; two ends within moments are one.
        guard type == .permission || !hasRung(root, type, within: now) else { return }
        tree.update(root) { $0.rungAt[type] = now }
        let key = "\(type.rawValue) \(root) \(mark ?? "at \(now.nanoseconds)")"
        actions.append(
            .ring(
                Ring(
                    type: type, session: root, key: key,
                    title: NotificationText.title(type, session: title),
                    body: NotificationText.body(type, text: text), request: request, name: title)))
    }
}
