import Network
import Synchronization

/// The queues between the parts of the bridge.
final class Mailbox: Sendable {
    /// The messages that the engine handles in order.
    enum Message: Sendable {
        case event(BridgeEvent)
        case stateLost
        case connected(OpenCodeClient, isFirst: Bool)
    }

    enum Job: Sendable {
        case action(BridgeAction)
        /// - Parameter followsGap: Whether events may have been missed since an earlier connection.
        case snapshot(isFirst: Bool, followsGap: Bool)
    }

    let messages: AsyncStream<Message>
    let jobs: AsyncStream<(OpenCodeClient, Job)>
    private let messageInput: AsyncStream<Message>.Continuation
    private let jobInput: AsyncStream<(OpenCodeClient, Job)>.Continuation
    private let waiting = Atomic(0)
    /// State from earlier events that later requests need.
    let memory: ServerMemory

    init(_ memory: ServerMemory) {
        self.memory = memory
        (messages, messageInput) = AsyncStream.makeStream(bufferingPolicy: .unbounded)
        (jobs, jobInput) = AsyncStream.makeStream(bufferingPolicy: .unbounded)
    }

    /// Queues a message even if many are waiting: each of the model's actions causes at most one.
    func post(_ message: Message) {
        waiting.add(1, ordering: .relaxed)
        messageInput.yield(message)
    }

    /// Queues a signal from the stream; false if too many are waiting.
    func accept(_ signal: StreamSignal) -> Bool {
        guard waiting.load(ordering: .relaxed) < Bounds.streamEventsWaitingMax else { return false }
        switch signal {
        case .event(let event): post(.event(event))
        case .stateLost: post(.stateLost)
        case .position(let session, let number): memory.note(position: number, of: session)
        }
        return true
    }

    /// Counts a message as handled.
    func handled() { waiting.subtract(1, ordering: .relaxed) }

    /// Queues a job for a worker.
    func post(_ job: Job, _ client: OpenCodeClient) { jobInput.yield((client, job)) }
}

/// Queries the server on behalf of the model.
struct Worker: Sendable {
    let mailbox: Mailbox
    let console: Console

    /// Runs until the task is cancelled.
    func run() async {
        for await (client, job) in mailbox.jobs {
            switch job {
            case .action(let action):
                if let event = await client.answer(action) { mailbox.post(.event(event)) }
            case .snapshot(let isFirst, let followsGap):
                do throws(ServerError) {
                    var snapshot = try await client.snapshot(isFirst: isFirst)
                    snapshot.followsGap = followsGap
                    mailbox.post(.event(.snapshot(snapshot)))
                } catch {
                    console.note("cannot compare with the server's state: \(error)")
                }
            }
            for report in mailbox.memory.takeReports() { console.note(report) }
        }
    }
}
