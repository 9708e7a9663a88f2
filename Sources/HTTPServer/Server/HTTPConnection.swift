import Network

/// One client's connection: parses requests, calls handlers and sends responses in order.
///
/// Confined to its loop. Handles one request at a time and buffers further input up to a limit, then pauses reading.
/// Synchronous routes are answered while parsing; others run in a task, which is cancelled when the client disconnects.
/// If a client pipelines, a few of its requests are answered per turn. The rest wait for the next turn, and for the
/// client to accept the earlier responses.
final class HTTPConnection: ChannelHandler {
    /// Unique among the connections on its loop.
    let id: UInt64
    let channel: Channel
    private let server: ServerCore
    private var parser: RequestParser
    private var deadlines: ConnectionDeadlines
    /// The time of the current event, read once per event because the loop's cached time may be older.
    private var now: MonotonicTime
    private var timer: Timer?
    /// When `timer` fires; a later deadline doesn't move the timer, which checks again when it fires.
    private var timerDue: MonotonicTime?
    /// The input after the current request.
    private var backlog = Backlog()
    /// Whether parsing `backlog` is scheduled for the next turn.
    private var hasTurn = false
    private var task: Task<Void, Never>?
    /// The memory of the request being handled.
    private var handledBytes = 0
    /// The number of complete requests.
    private var requestCount = 0
    private var hasSentContinue = false
    private var hasClientEnded = false
    /// Whether the last response has been written or none will follow.
    private var isClosing = false
    /// When the last request was answered or the connection was accepted; received bytes alone don't count as activity.
    private(set) var activeSince: MonotonicTime
    /// When the connection began to hold at least ``Limits/heldBytesNoticed`` bytes of requests and responses.
    private(set) var holdingSince: MonotonicTime?
    /// The connection's memory as the ledger counts it.
    private(set) var chargedBytes: Int

    init(id: UInt64, server: ServerCore, channel: Channel) {
        self.id = id
        self.server = server
        self.channel = channel
        parser = RequestParser(limits: server.limits)
        now = .current
        activeSince = now
        chargedBytes = channel.memoryBytes
        deadlines = ConnectionDeadlines(limits: server.limits, now: now)
        channel.highWaterBytes = 1
        channel.receiveBytesMax = server.limits.readAheadBytesMax
    }

    // MARK: ChannelHandler

    func channelActive(_ channel: Channel) {
        if channel.alpn == "h2", let other = server.http2?() {
            server.closed(self, channel)
            channel.handler = other
            return other.channelActive(channel)
        }
        now = .current
        deadlines = ConnectionDeadlines(limits: server.limits, now: now)
        settle()
    }

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        guard !isClosing else { return }
        now = .current
        let input = bytes.bindMemory(to: UInt8.self).span
        var offset = 0
        if backlog.isEmpty && canParse { parse(input, &offset) }
        if !isClosing { backlog.append(input, offset..<input.count) }
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

    /// Whether a handler is running; handlers limit their own running time.
    var isHandling: Bool { task != nil }

    /// Whether no request has begun and no response is due.
    var isIdle: Bool { task == nil && backlog.isEmpty && parser.phase == .idle && !isClosing }

    /// Closes the connection cleanly if it is idle.
    func closeIfIdle() {
        guard isIdle else { return }
        end()
    }

    /// Closes the connection immediately, whatever its state.
    func cancel() {
        isClosing = true
        task?.cancel()
        channel.close()
    }

    // MARK: Requests

    /// Whether the next request may be answered: the previous one has been, and the client is accepting the responses.
    private var canParse: Bool { task == nil && !isClosing && !hasTurn && channel.isWritable }

    /// Parses and handles requests from `input`, at most a turn's worth.
    private func parse(_ input: Span<UInt8>, _ offset: inout Int) {
        var left = server.limits.requestsPerTurnMax
        while canParse && left > 0 && server.outputCount < server.limits.answerBytesPerTurn {
            switch parser.parse(input, &offset) {
            case .needsMore:
                return
            case .request(let request):
                left -= 1
                requestCount += 1
                hasSentContinue = false
                handle(request)
            case .refused(let refusal):
                refuse(refusal)
            }
        }
    }

    private func parseBacklog() {
        guard !backlog.isEmpty && canParse else { return }
        backlog.take(parse)
    }

    /// Schedules the parsing of `backlog` after the other connections' events.
    private func awaitTurn() {
        hasTurn = true
        channel.loop.atNextTurn { [self] in
            hasTurn = false
            guard !isClosing else { return }
            now = .current
            parseBacklog()
            settle()
        }
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
            handledBytes = request.memoryBytes
            nonisolated(unsafe) let connection = self  // why: confined to the loop that runs the task
            task = channel.loop.spawn { loop in
                connection.finish(request, await handler(request, loop), since: began)
            }
            if hasClientEnded { task?.cancel() }
        }
    }

    /// Sends a handler's response and continues with buffered input.
    private func finish(_ request: Request, _ response: Response, since began: MonotonicTime) {
        task = nil
        handledBytes = 0
        now = .current
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
        answer(request, server.service.response(to: refusal, request), since: now)
    }

    private func answer(_ request: Request?, _ made: Response, since began: MonotonicTime) {
        var response = made
        server.service.finish?(request, &response, now.since(began))
        guard !isClosing else { return }
        guard !response.isWithheld else {
            isClosing = true
            return channel.close()
        }
        activeSince = now
        isClosing = response.closesConnection || request?.keepsAlive != true || server.isStopping
        let framing = ResponseEncoder.Framing(
            isHead: request?.method == .head || request == nil && parser.isHead, closes: isClosing,
            grantsKeepAlive: request?.minorVersion == 0)
        server.encode(response, framing, now: now)
    }

    // MARK: After each event

    /// Sends responses, closes the connection if nothing more will come, and updates reading, deadlines and counted
    /// memory.
    private func settle() {
        send()
        // Sending may reveal that the client has disconnected.
        guard !channel.isClosed else { return }
        if hasClientEnded && task == nil && backlog.isEmpty { isClosing = true }
        guard !isClosing else { return end() }
        if !backlog.isEmpty && canParse { awaitTurn() }
        let room = server.limits.readAheadBytesMax - backlog.count
        if room > 0 {
            channel.receiveBytesMax = room
            channel.resumeReading()
        } else {
            channel.pauseReading()
        }
        deadlines.update(wait, request: requestCount, now: now)
        deadlines.update(pendingBytes: channel.pendingBytes, now: now)
        arm()
        charge()
    }

    /// Reports the connection's memory to the ledger if it has changed.
    private func charge() {
        let held =
            backlog.memoryBytes + parser.memoryBytes + handledBytes + channel.pendingBytes
        let isHolding = held >= server.limits.heldBytesNoticed
        if isHolding != (holdingSince != nil) {
            holdingSince = isHolding ? now : nil
            if isHolding { server.noteHolding(self, since: now) }
        }
        let bytes = channel.memoryBytes + (isHolding ? held : 0)
        guard bytes != chargedBytes else { return }
        let difference = bytes - chargedBytes
        chargedBytes = bytes
        server.charge(difference)
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

    /// Closes once the client has received the last response, or after a timeout.
    private func end() {
        isClosing = true
        backlog.removeAll()
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
        // Unowned, because a weak reference slows down every retain; the connection owns the timer.
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
