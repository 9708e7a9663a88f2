import CEvent
import Glibc

/// A TCP connection, with or without TLS, confined to one event loop.
///
/// Collects writes and sends them once per turn. The channel retains itself and its handler until it has closed.
@safe package final class Channel {
    enum State {
        case connecting, handshaking, open
        /// The last bytes are being sent; received bytes are dropped.
        case closing
        case closed
    }

    package let loop: EventLoop
    /// The peer's address; nil until an outgoing connection is established.
    package internal(set) var remoteAddress: SocketAddress?
    /// Receives the channel's events; retained until the channel has closed.
    package var handler: (any ChannelHandler)?
    /// Whether the connection uses TLS.
    private let isTLS: Bool
    /// The stage that connecting has reached.
    package internal(set) var stage = ConnectStage.name
    /// The protocol chosen by ALPN; set before ``ChannelHandler/channelActive(_:)``.
    package private(set) var alpn: String?
    /// ``isWritable`` becomes false at this many unsent bytes and true again when all have been sent.
    package var highWaterBytes = 256 * 1024
    /// The maximum number of bytes passed to the handler at once; at least 1.
    package var receiveBytesMax = LoopExecutor.readBufferBytes

    var state: State
    var transport: Transport?
    var events: SocketEvents?
    private var output = OutputBuffer()
    private var timer: Timer?
    private var itself: Channel?
    private var isFlushPut = false
    /// Whether reading or the handshake is scheduled for the next turn; read events are ignored until then.
    var hasTurn = false
    var isPaused = false
    var hasEnded = false
    private var wasFull = false
    private var closeDeadline: Duration?

    /// Creates a channel without a socket.
    init(on loop: EventLoop, isTLS: Bool, handler: (any ChannelHandler)?) {
        loop.reactor.preconditionOnLoop()
        self.loop = loop
        self.handler = handler
        self.isTLS = isTLS
        state = .connecting
        itself = self
    }

    // MARK: The owner's side

    /// The number of bytes written but not yet accepted by the system.
    package var pendingBytes: Int { output.count }

    /// Whether the owner should keep writing; ``ChannelHandler/channelWritable(_:)`` reports when it may write again.
    package var isWritable: Bool { output.count < highWaterBytes }

    /// Whether the channel is established and not closing, so that it accepts writes.
    package var isOpen: Bool { state == .open }

    /// Whether the channel has closed; its handler is notified by the end of this turn.
    package var isClosed: Bool { state == .closed }

    /// The connection's estimated memory in bytes, including OpenSSL's but not unsent bytes or the handler's memory.
    package var memoryBytes: Int {
        guard isTLS else { return ChannelMemory.plainBytes }
        guard state == .open || state == .closing else { return ChannelMemory.handshakeBytes }
        let reading = transport?.hasUndeliveredBytes == true ? ChannelMemory.recordBytes : 0
        return ChannelMemory.tlsBytes + reading + (output.count > 0 ? ChannelMemory.recordBytes : 0)
    }

    /// `TLSv1.2` or `TLSv1.3`; nil without TLS or before the handshake.
    package var tlsVersion: String? { transport?.tlsVersion }

    /// The local address and port.
    package var localAddress: SocketAddress? {
        transport == nil ? nil : localSocketAddress(transport?.descriptor ?? -1)
    }

    /// Appends bytes to the output, which is sent at the end of this turn.
    ///
    /// Does nothing on a closed channel.
    package func write(_ bytes: UnsafeRawBufferPointer) {
        guard state == .open else { return }
        unsafe output.append(bytes)
        if output.count >= highWaterBytes { wasFull = true }
        guard !isFlushPut, events?.isWriting != true else { return }
        isFlushPut = true
        loop.atTurnEnd { [self] in
            isFlushPut = false
            flush()
        }
    }

    /// Appends bytes to the output; see ``write(_:)-(UnsafeRawBufferPointer)``.
    package func write(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe write($0) }
    }

    /// Sends bytes immediately unless others are waiting; buffers the bytes that the system doesn't accept.
    ///
    /// For owners that collect a turn's output themselves: nothing is copied and no flush is needed.
    package func send(_ bytes: UnsafeRawBufferPointer) {
        guard state == .open, output.count == 0 else { return unsafe write(bytes) }
        var rest = unsafe bytes
        while rest.count > 0 {
            let result = unsafe transport?.write(rest)
            switch result {
            case .bytes(let count): unsafe rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            case .needsRead, .needsWrite:
                events?.setWriting(true)
                return unsafe write(rest)
            case .end, nil: return finish(.peer)
            case .failed(let reason): return finish(reason)
            }
        }
    }

    /// Sends bytes immediately; see ``send(_:)-(UnsafeRawBufferPointer)``.
    package func send(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe send($0) }
    }

    /// Sends the waiting bytes, closes the write side and waits for the peer to close its side.
    ///
    /// Drops bytes that the peer sends meanwhile: closing with unread bytes would reset the connection, and the peer
    /// could lose the response. After `deadline`, the channel closes anyway.
    package func closeAfterFlush(deadline: Duration) {
        guard state == .open else { return close() }
        state = .closing
        closeDeadline = deadline
        isPaused = false
        startTimer(deadline) { [weak self] in
            guard let self else { return }
            self.finish(output.count > 0 ? .flushTimeout : .local)
        }
        loop.atTurnEnd { [self] in
            flush()
            readable()
        }
    }

    /// Closes immediately; waiting bytes are lost.
    package func close() {
        finish(.local)
    }

    // MARK: Setting up

    /// Takes ownership of a connected socket, accepted or outgoing.
    ///
    /// `deadline` limits the TLS handshake.
    func adopt(_ transport: consuming Transport, handshake deadline: Duration) {
        guard state == .connecting else { return }
        let descriptor = transport.descriptor
        self.transport = consume transport
        unsafe events = SocketEvents(
            loop, descriptor, Unmanaged.passUnretained(self).toOpaque(), channelEvent)
        if isTLS {
            state = .handshaking
            stage = .handshake
            startTimer(deadline) { [weak self] in self?.finish(.connectTimeout) }
            if self.transport?.isTLSServer == true { armRead() } else { advanceHandshake() }
        } else {
            becomeOpen()
        }
    }

    func startTimer(_ delay: Duration, _ fire: @escaping () -> Void) {
        let timer = Timer(on: loop, fire)
        timer.schedule(after: delay)
        self.timer = timer
    }

    private func advanceHandshake() {
        switch transport?.handshake() {
        case .bytes: becomeOpen()
        case .needsRead:
            events?.setWriting(false)
            armRead()
        case .needsWrite: events?.setWriting(true)
        case .end: finish(.peer)
        case .failed(let reason): finish(reason)
        case nil: break
        }
    }

    private func becomeOpen() {
        timer = nil
        state = .open
        stage = .open
        alpn = transport?.alpn
        events?.setWriting(false)
        handler?.channelActive(self)
        guard state == .open, !isPaused else { return }
        armRead()
        // The peer's first bytes may have arrived with the end of its handshake.
        if transport?.isTLS == true { readable() }
    }

    // MARK: Events

    fileprivate func event(_ events: Int32) {
        // The channel may close while it calls its handler; keep it alive until this call returns.
        withExtendedLifetime(self) {
            // A handshake step can cost as much as a hundred requests, so open channels go first.
            if state == .handshaking {
                self.events?.setWriting(false)
                return atNextTurn { $0.advanceHandshake() }
            }
            if events & EV_WRITE != 0 { flush() }
            if events & EV_READ != 0 && !hasTurn {
                readable()
                if self.events?.isWriting == true { flush() }
            }
        }
    }

    /// Sends as much as the system accepts now.
    package func flush() {
        guard state == .open || state == .closing, transport != nil else { return }
        while output.count > 0 {
            let result = unsafe output.withUnsafeBytes { bytes in unsafe transport?.write(bytes) ?? .end }
            switch result {
            case .bytes(let count): output.removeFirst(count)
            case .needsRead, .needsWrite:
                events?.setWriting(true)
                return
            case .end: return finish(.peer)
            case .failed(let reason): return finish(reason)
            }
        }
        events?.setWriting(false)
        if state == .closing {
            transport?.endWriting()
            if hasEnded { finish(.local) }
        } else if wasFull {
            wasFull = false
            handler?.channelWritable(self)
        }
    }

    /// Closes the channel; the handler gets the reason at the end of this turn.
    func finish(_ reason: ChannelCloseReason) {
        guard state != .closed else { return }
        let wasOpen = state == .open
        state = .closed
        timer = nil
        events = nil
        if wasOpen && reason == .local { transport?.endWriting() }
        transport = nil
        output.removeAll()
        loop.atTurnEnd { [self] in
            handler?.channelClosed(self, reason: reason)
            handler = nil
            itself = nil
        }
    }
}

private func channelEvent(_ descriptor: Int32, _ events: Int16, _ context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { return }
    unsafe Unmanaged<Channel>.fromOpaque(context).takeUnretainedValue().event(Int32(events))
}
