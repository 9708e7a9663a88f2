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
    private var timer: Timer?
    /// When `timer` fires; it is not moved when a deadline moves away, but looks again when it fires.
    private var timerDue: MonotonicTime?
    /// Bytes that came behind a request whose handler runs, or that wait for the client to take answers.
    private var backlog: [UInt8] = []
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
        deadlines = ConnectionDeadlines(limits: server.limits, now: channel.loop.now)
    }

    // MARK: ChannelHandler

    func channelActive(_ channel: Channel) {
        deadlines = ConnectionDeadlines(limits: server.limits, now: channel.loop.now)
        settle()
    }

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        guard !isClosing else { return }
        guard canParse else {
            backlog.append(contentsOf: bytes)
            if backlog.count > server.limits.readAheadBytesMax { channel.pauseReading() }
            return
        }
        parse(bytes.bindMemory(to: UInt8.self).span)
        settle()
    }

    func channelReadEnded(_ channel: Channel) {
        hasClientEnded = true
        task?.cancel()
        settle()
    }

    func channelWritable(_ channel: Channel) {
        parseBacklog()
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

    private var canParse: Bool { task == nil && !isClosing && channel.isWritable }

    private func parse(_ input: Span<UInt8>) {
        var offset = 0
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
        if !isClosing { backlog.append(input, offset..<input.count) }
    }

    private func parseBacklog() {
        guard !backlog.isEmpty, canParse else { return }
        let pending = backlog
        backlog = []
        parse(pending.span)
    }

    private func handle(_ parsed: Request) {
        var request = parsed
        request.remoteAddress = channel.remoteAddress
        server.service.prepare?(&request)
        let began = channel.loop.now
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
        server.taskEnded()
        answer(request, response, since: began)
        parseBacklog()
        settle()
    }

    private func refuse(_ refusal: Refusal) {
        var request = parser.unfinished
        request?.remoteAddress = channel.remoteAddress
        if var known = request {
            server.service.prepare?(&known)
            request = known
        }
        answer(request, server.service.response(to: refusal, request), since: channel.loop.now)
    }

    private func answer(_ request: Request?, _ made: Response, since began: MonotonicTime) {
        var response = made
        server.service.finish?(request, &response, channel.loop.now.since(began))
        guard !isClosing else { return }
        isClosing = response.closesConnection || request?.keepsAlive != true || server.isStopping
        let framing = ResponseEncoder.Framing(
            isHead: request?.method == .head || request == nil && parser.isHead, closes: isClosing,
            grantsKeepAlive: request?.minorVersion == 0)
        server.encode(response, framing)
    }

    // MARK: After each event

    /// Sends what was answered, closes when nothing more will come, and sets the deadlines.
    private func settle() {
        guard !channel.isClosed else { return server.dropOutput() }
        if !isClosing && task == nil && parser.awaitsContinue && !hasSentContinue {
            hasSentContinue = true
            server.encodeContinue()
        }
        deadlines.wrote(server.writeOutput(to: channel))
        // Sending may find the client gone.
        guard !channel.isClosed else { return }
        if hasClientEnded && task == nil && backlog.isEmpty { isClosing = true }
        guard !isClosing else { return end() }
        if backlog.count <= server.limits.readAheadBytesMax { channel.resumeReading() }
        let now = channel.loop.now
        deadlines.update(wait, request: requestCount, now: now)
        deadlines.update(pendingBytes: channel.pendingBytes, now: now)
        arm(now)
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

    private func arm(_ now: MonotonicTime) {
        guard let due = deadlines.due else { return }
        if let timerDue, timerDue <= due { return }
        let timer = timer ?? Timer(on: channel.loop) { [weak self] in self?.timerFired() }
        self.timer = timer
        timerDue = due
        timer.schedule(after: due.since(now))
    }

    private func timerFired() {
        timerDue = nil
        guard !isClosing else { return }
        let now = channel.loop.now
        deadlines.update(pendingBytes: channel.pendingBytes, now: now)
        switch deadlines.verdict(now: now) {
        case .wait:
            arm(now)
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
