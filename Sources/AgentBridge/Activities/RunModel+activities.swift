import Network

/// The activity of a running root session.
struct Work: Sendable, Equatable {
    /// When the session's run began or, without one, when the first of its sub-agents' runs began.
    var since: MonotonicTime
    var directory: String?
    /// The API that the run uses; `nil` for the server's own.
    var api: Generation?
    var status = ContentState.Status.working
    var retry: Retry?
    var todos: TodoCount?
}

extension RunModel {
    /// The root sessions that are running, directly or through sub-agents, or whose final ring is still being prepared.
    var atWork: [SessionID: Work] {
        guard tree.hasRuns || !pending.isEmpty else { return [:] }
        var found: [SessionID: Work] = [:]
        func add(_ session: SessionID, since: MonotonicTime, _ retry: Retry?) {
            guard case .root(let root) = tree.root(of: session), let known = tree[root] else { return }
            var work =
                found[root]
                ?? Work(
                    since: known.run?.startedAt ?? since, directory: known.directory, api: known.run?.api,
                    todos: known.todos)
            if known.run == nil { work.since = min(work.since, since) }
            if let retry { (work.status, work.retry) = (.retry, retry) }
            found[root] = work
        }
        for session in tree.running.sorted(by: { $0.text < $1.text }) {
            guard let known = tree[session], let run = known.run else { continue }
            add(session, since: run.startedAt, run.retry)
        }
        for ring in pending.values where ring.requestID == nil { add(ring.session, since: ring.since, nil) }
        for open in requests.values where open.stage == .rung {
            guard case .root(let root) = tree.root(of: open.request.session) else { continue }
            found[root]?.status = .permission
        }
        return found
    }
}
