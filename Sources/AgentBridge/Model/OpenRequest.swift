import Network

/// A request that is waiting for an answer.
struct OpenRequest: Sendable, Equatable {
    enum Stage: Sendable, Equatable {
        /// Waiting to be checked at this time.
        case waiting(until: MonotonicTime)
        /// The server is being asked whether the request is still open.
        case checking
        /// Its ring is being prepared.
        case ringing
        case rung
    }

    var request: Request
    var openedAt: MonotonicTime
    var stage: Stage
    var checks = 0
}

extension RunModel {
    /// Starts a request's waiting time; repeating the request restarts it.
    mutating func open(_ request: Request, _ now: MonotonicTime) {
        guard see(request.session, request.directory, now) else { return }
        guard requests[request.id] != nil || requests.count < Bounds.requestsMax else { return }
        if let known = requests[request.id] {
            if !known.request.asksSame(as: request) {
                // The request that the phones show is no longer open.
                forget(request.id, .withdrawn, now)
            } else if known.stage == .rung || known.stage == .ringing {
                return
            }
        }
        closed[request.id] = nil
        requests[request.id] = OpenRequest(
            request: request, openedAt: now, stage: .waiting(until: now + options.requestWait))
    }

    /// Handles the end of a request.
    mutating func close(_ id: RequestID, _ now: MonotonicTime, _ end: RequestEnd = .answered) {
        forget(id, end, now)
        advanceAll(now)
    }

    /// Forgets a request and the ring that is being prepared for it.
    mutating func forget(_ id: RequestID, _ end: RequestEnd, _ now: MonotonicTime) {
        if requests[id]?.stage == .rung { actions.append(.over(id, end)) }
        requests[id] = nil
        closed[id] = now
        dropPending { $0.requestID == id }
    }

    /// Queries the state of requests whose waiting time is over.
    mutating func checkDue(_ now: MonotonicTime) {
        let due = requests.values.filter {
            if case .waiting(let time) = $0.stage { time <= now } else { false }
        }
        for open in due.sorted(by: { $0.openedAt < $1.openedAt }) {
            requests[open.request.id]?.stage = .checking
            let directory = open.request.directory ?? tree[open.request.session]?.directory
            actions.append(.check(open.request, directory: directory))
        }
    }

    /// Handles the answer to a check: the request rings unless the list shows that it is no longer open.
    mutating func checked(_ id: RequestID, _ listing: Listing, _ now: MonotonicTime) {
        guard var open = requests[id], open.stage == .checking else { return }
        switch listing {
        case .listed, .unlistable:
            requests[id]?.stage = .ringing
            add(PendingRing(session: open.request.session, cause: .request(id), since: now, mark: nil), now)
        case .notListed:
            close(id, now)
        case .unknown:
            open.checks += 1
            guard open.checks < Bounds.requestChecksMax else { return close(id, now) }
            open.stage = .waiting(until: now + Bounds.requestRecheckPause)
            requests[id] = open
        }
    }

    // MARK: After a connection

    /// Resumes the state of an earlier process: phones may still ring for requests that are no longer open.
    mutating func resume(_ runs: [ResumedRun], _ rung: [Request], _ now: MonotonicTime) {
        for run in runs { begin(run.session, run.directory, now, isNew: false) }
        for request in rung.prefix(Bounds.requestsMax) where see(request.session, request.directory, now) {
            requests[request.id] = OpenRequest(request: request, openedAt: now, stage: .rung)
        }
    }

    /// Applies the server's state: ends, runs, requests and answers that no event reported.
    mutating func reconcile(_ snapshot: Snapshot, _ now: MonotonicTime) {
        for (session, directory) in snapshot.busy.sorted(by: { $0.key.text < $1.key.text }) {
            // An end that arrived during the query is newer than the snapshot.
            if let settled = tree[session]?.settledAt, settled >= snapshot.askedAt { continue }
            guard tree[session]?.run == nil else { continue }
            begin(session, directory, now)
        }
        for session in tree.running.sorted(by: { $0.text < $1.text }) {
            guard let known = tree[session], let run = known.run, run.startedAt < snapshot.askedAt,
                snapshot.busy[session] == nil, snapshot.covers(known.directory),
                // A run's directory is unknown until it has been looked up.
                snapshot.directories == nil || known.directory != nil || known.lineage.isKnown
            else { continue }
            settle(session, nil, mark: nil, now, isFound: true)
        }
        if snapshot.followsGap, snapshot.directories == nil { findMissedRuns(now) }
        guard snapshot.hasRequests else { return }
        for (id, open) in requests
        where open.openedAt < snapshot.askedAt
            && snapshot.closes(
                open.request, in: open.request.directory ?? tree[open.request.session]?.directory)
        {
            // 1.x still lists the requests of idle sessions.
            close(id, now, snapshot.canAsk(open.request.session) ? .answered : .withdrawn)
        }
        for request in snapshot.requests where snapshot.canAsk(request.session) {
            if let known = requests[request.id] {
                guard known.openedAt < snapshot.askedAt, !known.request.asksSame(as: request) else {
                    continue
                }
            }
            if let time = closed[request.id], time >= snapshot.askedAt { continue }
            open(request, now)
        }
    }
}
