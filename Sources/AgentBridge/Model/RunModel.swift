import Network

/// Decides what rings: a pure function of its state, an event and the time.
///
/// Both generations of servers are decoded to the same events, so that there is one set of rules
/// (docs/design/bridge.md).
struct RunModel: Sendable {
    /// The user's options.
    struct Options: Sendable, Equatable {
        /// Whether a permission's body shows its content.
        var showsCommands = false
        var requestWait = Bounds.requestWait
        var quietGrace = Bounds.quietGrace
    }

    let options: Options
    var tree = SessionTree()
    var requests: [RequestID: OpenRequest] = [:]
    /// Closed requests and when they were closed.
    var closed: [RequestID: MonotonicTime] = [:]
    /// Rings that are waiting for a look-up, a quiet session tree or their texts.
    var pending: [RingID: PendingRing] = [:]
    /// The pending rings whose session isn't being read.
    var unread: Set<RingID> = []
    private var lastRing: RingID = 0
    /// The actions that result from the event being handled.
    var actions: [BridgeAction] = []
    private var prunedAt: MonotonicTime?

    init(_ options: Options = Options()) {
        self.options = options
    }

    /// Whether the passing of time matters.
    var isWaiting: Bool {
        !requests.isEmpty || !pending.isEmpty || !closed.isEmpty || tree.count > Bounds.sessionsKept
    }

    /// Applies an event and returns the resulting actions in order.
    mutating func handle(_ event: BridgeEvent, at now: MonotonicTime) -> [BridgeAction] {
        actions = []
        defer { actions = [] }
        apply(event, now)
        return actions
    }

    private mutating func apply(_ event: BridgeEvent, _ now: MonotonicTime) {
        switch event {
        case .session(let session, let parent, let directory):
            tree.setParent(of: session, to: parent.map { .child(of: $0) } ?? .root, directory: directory, now)
            advanceAll(now)
        case .lookUpFailed(let session):
            if tree[session]?.lineage.isKnown == false {
                tree.setParent(of: session, to: .root, directory: nil, now)
            }
            advanceAll(now)
        case .deleted(let session): delete(session, now)
        case .busy(let session, let directory, let api):
            begin(session, directory, now, api: api)
            tree.update(session) {
                $0.run?.retry = nil
                // A run of the server's own API may also cause events of the other API; only those of its own API are
                // used.
                if api == nil { $0.run?.api = nil }
            }
        case .retries(let session, let retry): tree.update(session) { $0.run?.retry = retry }
        case .todos(let session, let count): tree.update(session) { $0.todos = count }
        case .failed(let session, let error, let mark): noteError(session, error, mark: mark, now)
        case .settled(let session, let outcome, let mark, let api):
            guard api == nil || tree[session]?.run?.api == api else { return }
            settle(session, outcome, mark: mark, now)
        case .opened(let request): open(request, now)
        case .closed(let id): close(id, now)
        case .snapshot(let snapshot): reconcile(snapshot, now)
        case .serverGone:
            for session in tree.running.sorted(by: { $0.text < $1.text }) {
                settle(session, .failed(.stopped), mark: nil, now)
            }
        case .resumed(let runs, let requests): resume(runs, requests, now)
        case .read(let id, let reading): finish(id, reading, now)
        case .checked(let id, let listing): checked(id, listing, now)
        case .tick:
            checkDue(now)
            advanceAll(now)
            prune(now)
        }
    }

    /// Registers a session, and looks up its parent the first time.
    mutating func see(_ session: SessionID, _ directory: String?, _ now: MonotonicTime) -> Bool {
        guard tree.see(session, directory, now) else { return false }
        if tree[session]?.lineage == .unknown {
            tree.update(session) { $0.lineage = .asked }
            actions.append(.lookUp(session, directory: tree[session]?.directory))
        }
        return true
    }

    // MARK: Runs

    /// Handles a busy session: a run begins or continues.
    mutating func begin(
        _ session: SessionID, _ directory: String?, _ now: MonotonicTime, api: Generation? = nil,
        isNew: Bool = true
    ) {
        guard see(session, directory, now) else { return }
        // The new run rings when it ends: an earlier run's ring would be outdated.
        dropPending { $0.session == session && $0.isEnd }
        guard tree[session]?.run == nil else { return }
        tree.update(session) {
            $0.run = Run(startedAt: now, api: api)
            $0.hasRung = false
        }
        if isNew { actions.append(.began(session, directory: tree[session]?.directory)) }
    }

    private mutating func noteError(
        _ session: SessionID, _ error: RunError, mark: String?, _ now: MonotonicTime
    ) {
        let name = error.name
        // OpenCode summarizes the conversation and continues; if it can't, the run's last message shows that at its
        // end.
        guard !SilentError.isOverflow(name), see(session, nil, now) else { return }
        dropPending { $0.session == session && $0.isEnd }
        if let run = tree[session]?.run {
            let isFirst = !run.isSettled
            tree.update(session) { $0.run?.isSettled = true }
            guard isFirst, !SilentError.isAbort(name) else { return }
            return add(PendingRing(session: session, cause: .failed(error), since: now, mark: nil), now)
        }
        guard !SilentError.isAbort(name), tree[session]?.hasRung != true else { return }
        add(PendingRing(session: session, cause: .error(error), since: now, mark: mark), now)
    }

    /// Handles the end of a run; without a run, nothing can ring.
    mutating func settle(
        _ session: SessionID, _ outcome: Outcome?, mark: String?, _ now: MonotonicTime, isFound: Bool = false
    ) {
        // A stopped server may continue the run; the comparison after its restart shows whether it does.
        guard outcome != .stopped, see(session, nil, now) else { return }
        // An interrupted run withdraws its requests silently.
        for (id, open) in requests where open.request.session == session { forget(id, .withdrawn, now) }
        guard let run = tree[session]?.run else { return advanceAll(now) }
        tree.update(session) {
            $0.run = nil
            $0.settledAt = now
            $0.hasRung = run.isSettled
        }
        var ring = PendingRing(session: session, cause: .ended(outcome), since: now, mark: mark, api: run.api)
        ring.isFound = isFound
        switch outcome {
        case _ where run.isSettled, .interrupted, .summarized, .stopped:
            actions.append(.ended(session))
        case .failed(let error):
            if SilentError.isAbort(error.name) {
                actions.append(.ended(session))
            } else {
                ring.cause = .failed(error)
                add(ring, now)
            }
        case .completed, nil:
            add(ring, now)
        }
        advanceAll(now)
    }

    private mutating func delete(_ session: SessionID, _ now: MonotonicTime) {
        let running = Set(tree.running)
        for gone in tree.delete(session) {
            for (id, open) in requests where open.request.session == gone { forget(id, .withdrawn, now) }
            dropPending { $0.session == gone }
            if running.contains(gone) { actions.append(.ended(gone)) }
        }
        advanceAll(now)
    }

    // MARK: Pending rings

    /// Prepares a ring.
    mutating func add(_ ring: PendingRing, _ now: MonotonicTime) {
        lastRing += 1
        pending[lastRing] = ring
        unread.insert(lastRing)
        advance(lastRing, now)
    }

    private mutating func prune(_ now: MonotonicTime) {
        closed = closed.filter { now.since($0.value) < Bounds.closedRequestMemory }
        guard tree.count > Bounds.sessionsKept,
            prunedAt.map({ now.since($0) >= Bounds.prunePause }) ?? true
        else { return }
        prunedAt = now
        let needed = Set(pending.values.map(\.session)).union(requests.values.map(\.request.session))
        tree.prune(keeping: needed, now)
    }
}
