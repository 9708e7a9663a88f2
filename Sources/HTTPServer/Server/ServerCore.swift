import Glibc
import Network

/// State shared by the connections of one loop: service, listener, output buffer, counts.
///
/// Confined to its loop.
final class ServerCore {
    /// The maximum number of connections closed in order to admit a new one or, per turn, to free memory.
    private static let evictionsMax = 64
    /// The size above which the output buffer's storage is freed after use.
    private static let keptCapacityBytes = 256 * 1024

    let loop: EventLoop
    let service: Service
    let limits: Limits
    private let ledger: ConnectionLedger
    /// Creates the handler for a connection that negotiated HTTP/2.
    var http2: (() -> (any ChannelHandler)?)?
    private var listener: Listener?
    private var connections: [UInt64: HTTPConnection] = [:]
    private var lastConnectionID: UInt64 = 0
    /// All connections, longest idle first.
    private var idle = EvictionQueue()
    /// Connections that hold buffers, the longest-holding first.
    private var holding = EvictionQueue()
    /// Whether memory is to be freed at the end of this turn or in the next one.
    private var isRelieving = false
    /// The number of refused connections waiting for their 503 to be read.
    var refusedCount = 0
    /// The number of running handlers.
    var taskCount = 0
    /// Whether the server is stopping, so that each connection closes after its next response.
    private(set) var isStopping = false
    private var stopTimers: [Timer] = []
    private var stopWaiters: [CheckedContinuation<Void, Never>] = []
    /// This turn's encoded responses for one channel.
    private var output: [UInt8] = []
    private var dateLine: [UInt8] = []
    private var dateDue = MonotonicTime(nanoseconds: 0)

    init(on loop: EventLoop, service: Service, limits: Limits, ledger: ConnectionLedger) {
        self.loop = loop
        self.service = service
        self.limits = limits
        self.ledger = ledger
    }

    /// Starts listening and returns the address.
    func listen(
        _ address: SocketAddress, unixPath: String?, isShared: Bool, tls: TLSServerContext?,
        onExhausted: ((Int32) -> Void)?
    ) throws(NetworkError) -> SocketAddress {
        var options = Listener.Options()
        options.unixPath = unixPath
        options.isShared = isShared
        options.tls = tls
        options.handshakeTimeout = limits.handshakeDeadline
        options.socketBufferBytes = limits.socketBufferBytes
        let listener = try Listener(address, on: loop, options: options) { [unowned self] in accept($0) }
        listener.onExhausted = onExhausted
        self.listener = listener
        return listener.localAddress
    }

    private func accept(_ channel: Channel) -> (any ChannelHandler)? {
        guard admit(channel) else {
            ledger.noteRefused()
            guard refusedCount < limits.refusedConnectionsMax else { return nil }
            refusedCount += 1
            return RefusedConnection(server: self)
        }
        lastConnectionID += 1
        let connection = HTTPConnection(id: lastConnectionID, server: self, channel: channel)
        connections[connection.id] = connection
        idle.add(connection.id, since: connection.activeSince, judge: judgeIdle)
        return connection
    }

    func closed(_ connection: HTTPConnection, _ channel: Channel) {
        forget(connection, channel)
        checkStopped()
    }

    private func forget(_ connection: HTTPConnection, _ channel: Channel) {
        guard connections.removeValue(forKey: connection.id) != nil else { return }
        ledger.release(channel.remoteAddress, bytes: connection.chargedBytes)
    }

    func taskEnded() {
        taskCount -= 1
        checkStopped()
    }

    // MARK: Admission and eviction

    /// Counts a new connection, closing others first if the server is full; false if it isn't admitted.
    private func admit(_ channel: Channel) -> Bool {
        for _ in 0...Self.evictionsMax {
            switch ledger.admit(channel.remoteAddress, bytes: channel.memoryBytes) {
            case .admitted: return true
            case .refused: return false
            case .connectionsFull: guard makeRoom(forMemory: false) else { return false }
            case .memoryFull: guard makeRoom(forMemory: true) else { return false }
            }
        }
        return false
    }

    /// Adds a change in a connection's memory, and frees memory if the total is above the limit.
    func charge(_ difference: Int) {
        guard ledger.addBytes(difference), difference > 0, !isRelieving else { return }
        // Deferred, because the calling connection may be the one to close.
        isRelieving = true
        loop.atTurnEnd { [self] in relieve() }
    }

    /// Frees memory, and continues in the next turn if that isn't enough, since there may be no more input to
    /// trigger it.
    private func relieve() {
        for _ in 0..<Self.evictionsMax {
            guard ledger.isMemoryFull, makeRoom(forMemory: true) else {
                isRelieving = false
                return
            }
        }
        loop.atNextTurn { [self] in relieve() }
    }

    /// Adds a connection that has begun to hold buffers.
    func noteHolding(_ connection: HTTPConnection, since: MonotonicTime) {
        holding.add(connection.id, since: since, judge: judgeHolding)
    }

    /// Closes one of this loop's connections; false if all of them are handling requests.
    private func makeRoom(forMemory: Bool) -> Bool {
        let first = forMemory ? holding.takeFirst(judge: judgeHolding) : nil
        guard let id = first ?? idle.takeFirst(judge: judgeIdle), let connection = connections[id] else {
            return false
        }
        forget(connection, connection.channel)
        ledger.noteEvicted()
        connection.cancel()
        return true
    }

    private func judgeIdle(_ id: UInt64, _ since: MonotonicTime) -> EvictionQueue.Verdict {
        guard let connection = connections[id] else { return .forget }
        if connection.isHandling { return .keep(since: .current) }
        return connection.activeSince > since ? .keep(since: connection.activeSince) : .evict
    }

    private func judgeHolding(_ id: UInt64, _ since: MonotonicTime) -> EvictionQueue.Verdict {
        guard let connection = connections[id], connection.holdingSince == since else { return .forget }
        return connection.isHandling ? .keep(since: since) : .evict
    }

    // MARK: Output

    func encode(_ response: Response, _ framing: ResponseEncoder.Framing, now: MonotonicTime) {
        if now >= dateDue { renewDate(now) }
        ResponseEncoder.append(response, framing, date: dateLine, to: &output)
    }

    func encodeContinue() {
        output.append(static: ResponseEncoder.continueLine)
    }

    /// Encodes the response to a client that has sent no request.
    func encodeRefusal(_ refusal: Refusal) {
        var response = service.response(to: refusal, nil)
        service.finish?(nil, &response, .zero)
        encode(response, ResponseEncoder.Framing(closes: true), now: .current)
    }

    /// Passes the encoded bytes to `channel` and returns their number.
    func writeOutput(to channel: Channel) -> Int {
        let count = output.count
        guard count > 0 else { return 0 }
        output.withUnsafeBytes { channel.send($0) }
        dropOutput()
        return count
    }

    /// The number of encoded bytes not yet passed to a channel.
    var outputCount: Int { output.count }

    func dropOutput() {
        output.removeAll(keepingCapacity: output.capacity <= Self.keptCapacityBytes)
    }

    private func renewDate(_ now: MonotonicTime) {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        dateLine = HTTPDate.line(unixTime: time.tv_sec)
        dateDue = now + .nanoseconds(1_000_000_000 - Int64(time.tv_nsec))
    }

    // MARK: Stopping

    /// Stops accepting, finishes requests in progress, cancels the rest at the deadline, and waits briefly for them.
    func stop(within deadline: Duration, isolation: isolated EventLoop) async {
        if !isStopping {
            isStopping = true
            listener?.close()
            listener = nil
            stopTimers = [
                after(min(deadline, limits.stopGrace)) { $0.connections.values.forEach { $0.closeIfIdle() } },
                after(deadline) { $0.connections.values.forEach { $0.cancel() } },
                after(deadline + limits.cancelledHandlersDeadline) { $0.endStop() },
            ]
        }
        await withCheckedContinuation { continuation in
            // Checked here, because waiting may let other work on the loop close the last connection.
            stopWaiters.append(continuation)
            if isStopped { endStop() }
        }
    }

    private var isStopped: Bool { connections.isEmpty && taskCount == 0 }

    private func checkStopped() {
        if isStopping && isStopped { endStop() }
    }

    private func endStop() {
        stopTimers = []
        let waiters = stopWaiters
        stopWaiters = []
        for waiter in waiters { waiter.resume() }
    }

    private func after(_ delay: Duration, _ action: @escaping (ServerCore) -> Void) -> Timer {
        let timer = Timer(on: loop) { [weak self] in
            if let self { action(self) }
        }
        timer.schedule(after: delay)
        return timer
    }
}
