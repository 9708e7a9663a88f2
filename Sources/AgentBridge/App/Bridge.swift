import Delays
import Network

/// The running bridge: reads a server's stream, applies the rules, and queues the resulting rings.
struct Bridge: Sendable {
    /// The bridge's dependencies.
    struct Parts: Sendable {
        /// Finds the server; called before each connection, because a restarted server may have another address.
        let findServer: @Sendable () -> ServerPlace?
        let options: RunModel.Options
        let quiet: QuietRule
        /// How long the stream may be silent.
        let silenceMax: Duration
        let outbox: Outbox
        /// Acknowledges events whose requests are over, and waits for replies.
        let replies: ReplyDesk
        /// Sends states for Live Activities; `nil` if they are disabled.
        var activities: ActivityDesk?
        let post: @Sendable (QueuedEvent) async -> RelayClient.Answer
        let console: Console
    }

    private let parts: Parts
    private let mailbox = Mailbox(ServerMemory())

    init(_ parts: Parts) { self.parts = parts }

    /// Runs until the task is cancelled.
    func run() async {
        let engine = Engine(parts, mailbox)
        await engine.resume(await parts.outbox.resumed, await parts.outbox.rung)
        await withTaskGroup { group in
            group.addTask { await engine.run() }
            group.addTask { await parts.outbox.run(parts.post) }
            group.addTask { await parts.replies.run() }
            if let activities = parts.activities { group.addTask { await activities.run() } }
            group.addTask { await connect() }
            group.addTask { await tick() }
            for _ in 0..<Bounds.serverWorkers {
                group.addTask { await Worker(mailbox: mailbox, console: parts.console).run() }
            }
            await group.waitForAll()
        }
    }

    private func tick() async {
        while (try? await Task.sleep(for: Bounds.tickInterval)) != nil {
            mailbox.post(.event(.tick))
        }
    }

    // MARK: Connections

    private func connect() async {
        var backOff = BackOff(from: Bounds.reconnectPauseMin, to: Bounds.reconnectPauseMax)
        var isFirst = true
        var lastFault = ""
        // When the last stream ended; reset once its runs count as lost.
        var lostAt: MonotonicTime?
        while !Task.isCancelled {
            let began = MonotonicTime.current
            do throws(ServerError) {
                let end = try await session(isFirst: &isFirst)
                guard !Task.isCancelled else { return }
                lastFault = ""
                lostAt = .current
                parts.console.note("the event stream ended (\(text(end))); reconnecting")
            } catch {
                guard !Task.isCancelled else { return }
                // Reporting the same fault every half minute would fill the journal.
                if error.description != lastFault { parts.console.note(error.description) }
                lastFault = error.description
                if let time = lostAt, began.since(time) >= Bounds.serverGoneAfter, isGone(error) {
                    mailbox.post(.event(.serverGone))
                    lostAt = nil
                }
            }
            if MonotonicTime.current.since(began) >= Bounds.streamLastedMin { backOff.reset() }
            let pause = backOff.next(.random(in: 0...1))
            guard (try? await Task.sleep(for: pause)) != nil else { return }
        }
    }

    /// Whether a server on this machine has stopped; with a remote server, perhaps only the network has failed.
    private func isGone(_ fault: ServerError) -> Bool {
        guard case .unreachable(_, false) = fault else { return false }
        return parts.findServer()?.address.isLoopback == true
    }

    private func session(isFirst: inout Bool) async throws(ServerError) -> ServerStream.End {
        guard let place = parts.findServer() else {
            throw .unreachable("no address", isTimeout: false)
        }
        let client = try await OpenCodeClient.connect(place, mailbox.memory)
        let wasFirst = isFirst
        let stream = ServerStream(client: client, silenceLimit: parts.silenceMax) { [mailbox] signal in
            mailbox.accept(signal)
        } connected: { [mailbox, console = parts.console] in
            console.note("connected to OpenCode \(client.version) at \(place.address)")
            mailbox.post(.connected(client, isFirst: wasFirst))
        }
        let end = try await stream.run()
        isFirst = false
        return end
    }

    private func text(_ end: ServerStream.End) -> String {
        switch end {
        case .closed(let reason): reason
        case .silent: "no data received for \(parts.silenceMax.components.seconds) seconds"
        case .overflow: "too many events at once"
        }
    }
}
