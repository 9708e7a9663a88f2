import Network

/// What is known about a session's parent.
enum Lineage: Sendable, Equatable {
    /// Never seen.
    case unknown
    /// Being looked up.
    case asked
    case root
    case child(of: SessionID)

    var isKnown: Bool { self != .unknown && self != .asked }
}

/// A period in which a session is busy.
struct Run: Sendable, Equatable {
    let startedAt: MonotonicTime
    /// Whether the run's error has rung or the user aborted the run, so that its end doesn't ring.
    var isSettled = false
    /// Why the run is waiting; `nil` if it is working.
    var retry: Retry?
    /// The API that the run uses; `nil` for the server's own.
    var api: Generation?
}

/// The stored state of a session.
struct Session: Sendable {
    var lineage = Lineage.unknown
    /// The directory whose server instance runs the session (1.x).
    var directory: String?
    var run: Run?
    /// The session's title when it was last read.
    var title: String?
    /// How much of the session's to-do list is done; `nil` if it has none.
    var todos: TodoCount?
    /// When the session's last run ended.
    var settledAt: MonotonicTime?
    /// Identifies the last end that was evaluated.
    var lastEnd: String?
    /// Whether the end of the session's last run has rung: an error after it belongs to the same run.
    var hasRung = false
    var seenAt: MonotonicTime
}

/// The known sessions and their parents.
struct SessionTree: Sendable {
    private var sessions: [SessionID: Session] = [:]
    private var children: [SessionID: Set<SessionID>] = [:]
    /// Deleted sessions, the latest last; kept because events about them can still arrive.
    private var deleted: [SessionID] = []
    /// How many sessions have a run.
    private var runs = 0

    var count: Int { sessions.count }
    var hasRuns: Bool { runs > 0 }
    subscript(_ session: SessionID) -> Session? { sessions[session] }

    /// The sessions with a run.
    var running: [SessionID] { sessions.filter { $0.value.run != nil }.map(\.key) }

    /// The most recently ended idle root sessions whose last end is known.
    var rested: [SessionID] {
        let ended = sessions.compactMap { session, value -> (session: SessionID, at: MonotonicTime)? in
            guard value.run == nil, value.lastEnd != nil, value.lineage == .root else { return nil }
            return value.settledAt.map { (session, $0) }
        }
        return ended.sorted { $0.at > $1.at }.prefix(Bounds.restedSessionsRead).map(\.session)
    }

    /// Registers a session; false if there are too many or it was deleted.
    mutating func see(_ session: SessionID, _ directory: String?, _ now: MonotonicTime) -> Bool {
        if sessions[session] == nil {
            guard sessions.count < Bounds.sessionsMax, !isDeleted(session) else { return false }
            sessions[session] = Session(seenAt: now)
            if session == .global { sessions[session]?.lineage = .root }
        }
        sessions[session]?.seenAt = now
        if let directory { sessions[session]?.directory = directory }
        return true
    }

    /// Changes a known session.
    mutating func update(_ session: SessionID, _ change: (inout Session) -> Void) {
        guard var value = sessions[session] else { return }
        let hadRun = value.run != nil
        change(&value)
        runs += (value.run != nil ? 1 : 0) - (hadRun ? 1 : 0)
        sessions[session] = value
    }

    /// Records a session's parent.
    mutating func setParent(
        of session: SessionID, to lineage: Lineage, directory: String?, _ now: MonotonicTime
    ) {
        guard see(session, directory, now) else { return }
        unlink(session)
        update(session) { $0.lineage = lineage }
        if case .child(let parent) = lineage { children[parent, default: []].insert(session) }
    }

    /// Forgets a session.
    mutating func remove(_ session: SessionID) {
        unlink(session)
        update(session) { $0.run = nil }
        sessions[session] = nil
    }

    func isDeleted(_ session: SessionID) -> Bool { deleted.contains(session) }

    /// Removes a session and its descendants, and ignores later events about them; returns the removed sessions.
    mutating func delete(_ session: SessionID) -> [SessionID] {
        var found: [SessionID] = []
        var waiting = [session]
        while let next = waiting.popLast() {
            waiting += (children[next] ?? []).filter { !found.contains($0) }
            found.append(next)
            remove(next)
        }
        deleted = (deleted + found).suffix(Bounds.deletedSessionsMax)
        return found
    }

    private mutating func unlink(_ session: SessionID) {
        guard case .child(let parent)? = sessions[session]?.lineage else { return }
        children[parent]?.remove(session)
        if children[parent]?.isEmpty == true { children[parent] = nil }
    }

    /// The result of following parents.
    enum Ancestry: Equatable {
        case root(SessionID)
        /// This ancestor's parent is unknown.
        case unknown(SessionID)
    }

    /// Follows a session's parents to the root.
    func root(of session: SessionID) -> Ancestry {
        var current = session
        for _ in 0..<Bounds.ancestorsMax {
            switch sessions[current]?.lineage ?? .unknown {
            case .unknown, .asked: return .unknown(current)
            case .root: return .root(current)
            case .child(let parent): current = parent
            }
        }
        return .root(current)
    }

    /// Whether a descendant is busy or has an open request.
    func hasWork(below root: SessionID, requests: [RequestID: OpenRequest]) -> Bool {
        guard let first = children[root] else { return false }
        var seen: Set<SessionID> = [root]
        var waiting = Array(first)
        while let session = waiting.popLast() {
            guard seen.insert(session).inserted else { continue }
            if sessions[session]?.run != nil { return true }
            waiting += children[session] ?? []
        }
        return requests.values.contains { $0.request.session != root && seen.contains($0.request.session) }
    }

    /// Forgets sessions that have been idle for a long time.
    mutating func prune(keeping needed: Set<SessionID>, _ now: MonotonicTime) {
        for (session, value) in sessions
        where value.run == nil && children[session] == nil && !needed.contains(session)
            && now.since(value.seenAt) >= Bounds.sessionMemory
        {
            remove(session)
        }
    }
}
