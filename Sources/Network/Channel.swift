import CEvent
import Glibc

/// A TCP connection, with or without TLS, on one event loop and confined to it.
///
/// Writes are gathered and leave once a turn. The channel holds itself and its handler until it has closed.
@safe package final class Channel {
    enum State {
        case connecting, handshaking, open
        /// The last bytes leave, what comes in is dropped.
        case closing
        case closed
    }

    package let loop: EventLoop
    /// Who is at the other end; nil until a connection that this side makes stands.
    package internal(set) var remoteAddress: SocketAddress?
    /// Who is told; held until the channel has closed.
    package var handler: (any ChannelHandler)?
    /// Whether it is or will be under TLS.
    private let isTLS: Bool
    /// How far it has come.
    package internal(set) var stage = ConnectStage.name
    /// The protocol that ALPN chose; set before the handler hears that the channel is active.
    package private(set) var alpn: String?
    /// With this many bytes waiting to go out ``isWritable`` is false, until all of them have left.
    package var highWaterBytes = 256 * 1024
    /// The most bytes that the handler is given at once; at least 1.
    package var receiveBytesMax = LoopExecutor.readBufferBytes

    var state: State
    var transport: Transport?
    var events: SocketEvents?
    private var output = OutputBuffer()
    private var timer: Timer?
    private var itself: Channel?
    private var isFlushPut = false
    /// The next turn goes on with reading or with the handshake; events until then change nothing.
    var hasTurn = false
    var isPaused = false
    var hasEnded = false
    private var wasFull = false
    private var closeDeadline: Duration?

    /// A channel without a socket yet.
    init(on loop: EventLoop, isTLS: Bool, handler: (any ChannelHandler)?) {
        loop.reactor.preconditionOnLoop()
        self.loop = loop
        self.handler = handler
        self.isTLS = isTLS
        state = .connecting
        itself = self
    }

    // MARK: The owner's side

    /// Bytes written and not yet taken by the system.
    package var pendingBytes: Int { output.count }

    /// Whether the owner should go on writing; ``ChannelHandler/channelWritable(_:)`` tells when again.
    package var isWritable: Bool { output.count < highWaterBytes }

    /// Whether the channel takes writes: it stands and nobody has asked to close it.
    package var isOpen: Bool { state == .open }

    /// Whether it is over; its handler has heard so or hears it at the end of this turn.
    package var isClosed: Bool { state == .closed }

    /// About how many bytes of memory it takes, with OpenSSL's part, without what waits to go out and what its handler holds.
    package var memoryBytes: Int {
        guard isTLS else { return ChannelMemory.plainBytes }
        guard state == .open || state == .closing else { return ChannelMemory.handshakeBytes }
        let reading = transport?.hasUndeliveredBytes == true ? ChannelMemory.recordBytes : 0
        return ChannelMemory.tlsBytes + reading + (output.count > 0 ? ChannelMemory.recordBytes : 0)
    }

    /// `TLSv1.2` or `TLSv1.3`; nil without TLS or before the handshake.
    package var tlsVersion: String? { transport?.tlsVersion }

    /// The port and address of this side.
    package var localAddress: SocketAddress? {
        transport == nil ? nil : localSocketAddress(transport?.descriptor ?? -1)
    }

    /// Puts bytes behind those waiting; they leave at the end of this turn.
    ///
    /// Nothing happens on a closed channel.
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

    /// Puts bytes behind those waiting; see ``write(_:)-(UnsafeRawBufferPointer)``.
    package func write(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe write($0) }
    }

    /// Hands bytes to the system at once unless others wait; what it doesn't take now waits.
    ///
    /// For owners that gather a turn's output themselves: nothing is copied, and no flush has to follow.
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

    /// Hands bytes to the system at once; see ``send(_:)-(UnsafeRawBufferPointer)``.
    package func send(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe send($0) }
    }

    /// Lets the waiting bytes leave, ends this side in order and waits for the peer to do so too.
    ///
    /// What the peer sends meanwhile is dropped: closing with unread bytes would reset the connection, and the peer
    /// could lose the answer. After `deadline` the channel closes as it is.
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

    /// Closes at once; bytes still waiting are lost.
    package func close() {
        finish(.local)
    }

    // MARK: Setting up

    /// Takes a socket over: a server's accepted one, or a client's connected one.
    ///
    /// `deadline` bounds the handshake.
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
        // The peer's first bytes may have come with the end of its handshake.
        if transport?.isTLS == true { readable() }
    }

    // MARK: Events

    fileprivate func event(_ events: Int32) {
        // The channel may close while it tells its handler; it lives on until the end of this call.
        withExtendedLifetime(self) {
            // A step of a handshake takes a hundred times as long as a request: open channels have their turn first.
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

    /// Hands the system what it takes now.
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

    /// Ends the channel with the reason that its handler hears at the end of this turn.
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
