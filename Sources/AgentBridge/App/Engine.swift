import Network
import Programs

/// Applies the rules to incoming messages and performs the resulting actions.
actor Engine {
    private var model: RunModel
    private let quiet: QuietRule
    private let outbox: Outbox
    private let mailbox: Mailbox
    private let console: Console
    private let replies: ReplyDesk
    /// Sends states for Live Activities; `nil` if they are disabled.
    private let activities: ActivityDesk?
    private var client: OpenCodeClient?
    private var comparedAt: MonotonicTime?
    /// Whether no snapshot has arrived since the last gap between connections.
    private var isGapOpen = false

    init(_ parts: Bridge.Parts, _ mailbox: Mailbox) {
        model = RunModel(parts.options)
        quiet = parts.quiet
        console = parts.console
        outbox = parts.outbox
        replies = parts.replies
        activities = parts.activities
        self.mailbox = mailbox
    }

    /// Restores the runs of an earlier process and its requests that rang.
    func resume(_ runs: [ResumedRun], _ rung: [RungRequest]) async {
        for directory in runs.map(\.directory) + rung.map(\.request.directory) {
            if let directory { mailbox.memory.note(directory: directory) }
        }
        for known in rung { await replies.rang(known) }
        await apply(.resumed(runs, rung.map(\.request)))
    }

    /// Handles messages until the task is cancelled.
    func run() async {
        for await message in mailbox.messages {
            mailbox.handled()
            switch message {
            case .event(let event): await apply(event)
            case .stateLost: compare(isFirst: false)
            case .connected(let client, let isFirst):
                self.client = client
                await replies.use(client)
                await activities?.use(client)
                isGapOpen = isGapOpen || !isFirst
                compare(isFirst: isFirst)
            }
        }
    }

    private func apply(_ event: BridgeEvent) async {
        switch event {
        case .busy(_, let directory?, _): mailbox.memory.note(directory: directory)
        case .opened(let request):
            if let directory = request.directory { mailbox.memory.note(directory: directory) }
        case .session(_, _, let directory?): mailbox.memory.note(directory: directory)
        case .snapshot(let snapshot) where snapshot.followsGap: isGapOpen = false
        case .tick:
            if model.tree.hasRuns || isGapOpen, let comparedAt,
                MonotonicTime.current.since(comparedAt) >= Bounds.reconcileInterval
            {
                compare(isFirst: false)
            }
            if model.isWaiting { await perform(model.handle(event, at: .current)) }
            await activities?.update(model.atWork)
            return
        default: break
        }
        await perform(model.handle(event, at: .current))
    }

    private func perform(_ actions: [BridgeAction]) async {
        for action in actions {
            switch action {
            case .ring(let ring) where quiet.silences(ring.type):
                console.explain("complete of \(ring.session) doesn't ring: someone is typing at this machine")
            case .ring(let ring):
                let state = await activities?.rang(ring)
                guard let request = ring.request else {
                    await outbox.put(ring, showing: state)
                    continue
                }
                var asked = ring
                // Another server's requests can have the same identifiers.
                if let client { asked.key += " of \(client.place.address)" }
                asked.asked = await replies.canAnswer(request) ? request.asked : nil
                if asked.asked != nil, !outbox.canAsk(asked) {
                    console.explain("\(Console.safe(request.id)) doesn't fit into a notification")
                    asked.asked = nil
                }
                let actions = await replies.actions(request, offersAnswers: asked.asked != nil)
                let eventID = await outbox.put(asked, showing: state, actions: actions)
                let rung = RungRequest(
                    request: request, eventID: eventID, offersAnswers: asked.asked != nil)
                await replies.rang(rung)
                await outbox.note(.rang(rung, at: WallClock.system.now))
            case .over(let request, let end):
                if let eventID = await replies.closed(request, end) { await outbox.over(eventID) }
            case .began(let session, let directory):
                await outbox.note(.began(ResumedRun(session: session, directory: directory)))
            case .ended(let session): await outbox.note(.ended(session))
            case .lookUp, .read, .check:
                if let client {
                    mailbox.post(.action(action), client)
                } else {
                    deferred.append(action)
                }
            }
        }
    }

    /// Requests the server's state, in case events were missed.
    private func compare(isFirst: Bool) {
        guard let client else { return }
        comparedAt = .current
        for action in deferred { mailbox.post(.action(action), client) }
        deferred = []
        mailbox.post(.snapshot(isFirst: isFirst, followsGap: isGapOpen), client)
    }

    /// Actions for resumed runs, deferred until the first connection.
    private var deferred: [BridgeAction] = []
}
