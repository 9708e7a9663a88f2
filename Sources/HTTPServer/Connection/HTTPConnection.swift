import Network

/// One client's connection: bytes to requests to handlers to answers, in order.
///
/// Confined to its loop.
/// One request is handled at a time; what the client sends meanwhile is kept up to a bound, then reading pauses. Synchronous routes are
/// answered while the bytes are read; others in a task, which is cancelled when the client leaves.
final class HTTPConnection: ChannelHandler {
    private let server: ServerCore
    private let channel: Channel
    private var parser: RequestParser
    private var deadlines: ConnectionDeadlines
    /// When the event at hand came: read once for each, since a loop's time can be older than its wait.
    private var now: MonotonicTime
    private var timer: Timer?
    /// When `timer` fires; it is not moved when a deadline moves away, but looks again when it fires.
    private var timerDue: MonotonicTime?
    /// Bytes that came behind a request whose handler runs, or that wait for the client to take answers.
    private var backlog: [UInt8] = []
    /// Where in `backlog` the next request begins.
    private var backlogStart = 0
    private var task: Task<Void, Never>?
    /// Whole requests so far.
    private var requestCount = 0
    private var hasSentContinue = false
    private var hasClientEnded = false
    /// The last answer is written, or none will come.
    private var isClosing = false

    init(server: ServerCore, channel: Channel) {
        self.server = server
        self.channel = channel
        parser = RequestParser(limits: server.limits)
        now = .current
        deadlines = ConnectionDeadlines(limits: server.limits, now: now)
    }

    // MARK: ChannelHandler

    func channelActive(_ channel: Channel) {
        now = .current
        deadlines = ConnectionDeadlines(limits: server.limits, now: now)
        settle()
    }

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        guard !isClosing else { return }
        now = .current
        if backlog.isEmpty && canParse {
            let input = bytes.bindMemory(to: UInt8.self).span
            var offset = 0
            parse(input, &offset)
            if !isClosing { backlog.append(input, offset..<input.count) }
        } else {
            backlog.append(contentsOf: bytes)
        }
        settle()
    }

    func channelReadEnded(_ channel: Channel) {
        now = .current
        hasClientEnded = true
        task?.cancel()
        settle()
    }

    func channelWritable(_ channel: Channel) {
        now = .current
        settle()
    }

    func channelClosed(_ channel: Channel, reason: ChannelCloseReason) {
        isClosing = true
        task?.cancel()
        timer?.cancel()
        timer = nil
        server.closed(self, channel)
    }

    // MARK: The server's side

    /// Nothing of a request is there and no answer is owed.
    var isIdle: Bool { task == nil && backlog.isEmpty && parser.phase == .idle && !isClosing }

    /// Ends an idle connection in order.
    func closeIfIdle() {
        guard isIdle else { return }
        end()
    }

    /// Ends the connection at once, whatever it is doing.
    func cancel() {
        isClosing = true
        task?.cancel()
        channel.close()
    }

    // MARK: Requests

    /// Whether the next request may be answered: the last one is, and the client takes its answers.
    private var canParse: Bool {
        task == nil && !isClosing && channel.isWritable && server.outputCount < Channel.highWaterBytes
    }

    /// Takes requests from `input` as long as they can be answered.
    private func parse(_ input: Span<UInt8>, _ offset: inout Int) {
        while canParse {
            switch parser.parse(input, &offset) {
            case .needsMore:
                return
            case .request(let request):
                requestCount += 1
                hasSentContinue = false
                handle(request)
            case .refused(let refusal):
                refuse(refusal)
            }
        }
    }

    private func parseBacklog() {
        let pending = backlog
        parse(pending.span, &backlogStart)
        guard backlogStart == pending.count || isClosing else { return }
        backlog = []
        backlogStart = 0
    }

    private func handle(_ parsed: Request) {
        var request = parsed
        request.remoteAddress = channel.remoteAddress
        server.service.prepare?(&request)
        let began = now
        switch server.service.router.route(request) {
        case .sync(let handler):
            answer(request, handler(request), since: began)
        case .refuse(let refusal):
            answer(request, server.service.response(to: refusal, request), since: began)
        case .async(let handler):
            server.taskCount += 1
            nonisolated(unsafe) let connection = self  // why: confined to the loop that runs the task
            task = channel.loop.spawn { loop in
                connection.finish(request, await handler(request, loop), since: began)
            }
            if hasClientEnded { task?.cancel() }
        }
    }

    /// Takes a handler's answer and goes on with what came meanwhile.
    private func finish(_ request: Request, _ response: Response, since began: MonotonicTime) {
        task = nil
        now = .current
        server.taskEnded()
        answer(request, response, since: began)
        settle()
    }

    private func refuse(_ refusal: Refusal) {
        var request = parser.unfinished
        request?.remoteAddress = channel.remoteAddress
        if var known = request {
            server.service.prepare?(&known)
            request = known
        }
        answer(request, server.service.response(to: refusal, request), since: now)
    }

    private func answer(_ request: Request?, _ made: Response, since began: MonotonicTime) {
        var response = made
        server.service.finish?(request, &response, now.since(began))
        guard !isClosing else { return }
        isClosing = response.closesConnection || request?.keepsAlive != true || server.isStopping
        let framing = ResponseEncoder.Framing(
            isHead: request?.method == .head || request == nil && parser.isHead, closes: isClosing,
            grantsKeepAlive: request?.minorVersion == 0)
        server.encode(response, framing, now: now)
    }

    // MARK: After each event

    /// Sends what was answered, goes on with what was kept, closes when nothing more will come, and sets the deadlines.
    private func settle() {
        send()
        while !backlog.isEmpty && canParse {
            parseBacklog()
            send()
        }
        // Sending may have found the client gone.
        guard !channel.isClosed else { return }
        if hasClientEnded && task == nil && backlog.isEmpty { isClosing = true }
        guard !isClosing else { return end() }
        if backlog.count - backlogStart > server.limits.readAheadBytesMax {
            channel.pauseReading()
        } else {
            channel.resumeReading()
        }
        deadlines.update(wait, request: requestCount, now: now)
        deadlines.update(pendingBytes: channel.pendingBytes, now: now)
        arm()
    }

    private func send() {
        guard !channel.isClosed else { return server.dropOutput() }
        if !isClosing && task == nil && parser.awaitsContinue && !hasSentContinue {
            hasSentContinue = true
            server.encodeContinue()
        }
        deadlines.wrote(server.writeOutput(to: channel))
    }

    private var wait: ConnectionDeadlines.Wait {
        if task != nil || !backlog.isEmpty { return .handler }
        return switch parser.phase {
        case .idle: .firstByte
        case .head: .head
        case .body: .body
        }
    }

    /// Closes once the client has the last answer, or doesn't take it in time.
    private func end() {
        isClosing = true
        backlog = []
        timer?.cancel()
        timer = nil
        let limits = server.limits
        channel.closeAfterFlush(
            deadline: channel.pendingBytes > 0 ? limits.writeStallDeadline : limits.lingerDeadline)
    }

    // MARK: Deadlines

    private func arm() {
        guard let due = deadlines.due else { return }
        if let timerDue, timerDue <= due { return }
        // Unowned, since a weak reference makes every retain dearer; the timer goes with the connection.
        let timer = timer ?? Timer(on: channel.loop) { [unowned self] in timerFired() }
        self.timer = timer
        timerDue = due
        timer.schedule(after: due.since(now))
    }

    private func timerFired() {
        timerDue = nil
        guard !isClosing else { return }
        now = .current
        deadlines.update(pendingBytes: channel.pendingBytes, now: now)
        switch deadlines.verdict(now: now) {
        case .wait:
            arm()
        case .close:
            isClosing = true
            task?.cancel()
            channel.close()
        case .refuse(let refusal):
            refuse(refusal)
            settle()
        }
    }
}
