import Network

/// Sends the states of running sessions to the relay for Live Activities, one at a time.
///
/// It sends its own requests, so that a slow response never delays a notification, and stores nothing: a state that
/// can't be sent now is useless later. Only the end of an activity goes through the queue.
actor ActivityDesk {
    /// The desk's dependencies.
    struct Parts: Sendable {
        let read: @Sendable (OpenCodeClient, SessionID, Work) async -> Reading?
        let post: @Sendable (SessionID, _ isStart: Bool, ContentState) async -> RelayClient.Answer
        /// Queues the end of a session's activity.
        let end: @Sendable (SessionID, ContentState) async -> Void
    }

    private let parts: Parts
    private let console: Console
    private var board: ActivityBoard
    private var client: OpenCodeClient?

    init(_ options: ActivityBoard.Options, _ parts: Parts, _ console: Console) {
        self.parts = parts
        self.console = console
        board = ActivityBoard(options)
    }

    /// Sets the server from which sessions are read.
    func use(_ client: OpenCodeClient) { self.client = client }

    /// Updates the set of running sessions, and ends the activities of all others.
    func update(_ works: [SessionID: Work]) async {
        for (session, state) in board.update(works, .current).sorted(by: { $0.key.text < $1.key.text }) {
            await parts.end(session, state)
        }
    }

    /// Records that a notification is being sent; returns the state to include in it.
    func rang(_ ring: Ring) -> ContentState { board.rang(ring, .current) }

    /// Runs until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            // Until the first connection, it is unknown whether the runs of an earlier process continue.
            if let client, let job = board.next(.current) {
                await perform(job, client)
            } else {
                guard (try? await Task.sleep(for: Bounds.tickInterval)) != nil else { return }
            }
        }
    }

    private func perform(_ job: ActivityBoard.Job, _ client: OpenCodeClient) async {
        switch job {
        case .read(let session, let work):
            board.read(session, await parts.read(client, session, work))
        case .post(let session, let isStart, let state):
            let answer = await parts.post(session, isStart, state)
            guard !Task.isCancelled else { return }
            switch answer {
            case .accepted: break
            case .refused(let reason):
                console.note("the relay refused a Live Activity's state: \(reason)")
            case .later(let reason, _), .unreachable(let reason):
                console.explain("the relay can't accept a Live Activity's state now: \(reason)")
            }
            // The session ended while its activity was being started.
            if board.finish(session, answer, .current), isStart, case .accepted = answer {
                await parts.end(session, ContentState(status: .complete))
            }
        }
    }
}

extension ActivityDesk.Parts {
    /// Creates the dependencies from a relay client and a queue.
    init(relay: RelayClient, sealer: Sealer?, outbox: Outbox) {
        self.init(
            read: { client, session, work in
                try? await client.read(session, work.directory, needsOutcome: false, api: work.api)
            },
            post: { session, isStart, state in
                await relay.post(state, of: sealer?.visible(session) ?? session, isStart: isStart)
            },
            end: { session, state in await outbox.end(session, state) })
    }
}
