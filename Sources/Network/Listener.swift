import CEvent
import Glibc

/// A listening TCP socket on one event loop, confined to it.
@safe package final class Listener {
    /// Connections that the system holds until they are accepted.
    static let backlog: Int32 = 1024
    /// How many connections one turn accepts, so that those that stand get theirs.
    static let acceptsPerTurn = 128
    /// How long to wait when the process has no descriptor left.
    static let exhaustedPause = Duration.milliseconds(100)

    /// Whom to listen for, and what with.
    package struct Options {
        /// Several listeners share the address, each getting its part of the connections (`SO_REUSEPORT`).
        package var isShared = false
        /// The certificate to show; nil for TCP without TLS.
        package var tls: TLSServerContext?
        /// How long a TLS handshake may take.
        package var handshakeTimeout = Duration.seconds(10)
        /// Bytes that the system may hold of each connection in each direction; nil leaves that to the system.
        package var socketBufferBytes: Int?

        package init() {}
    }

    private let loop: EventLoop
    private let options: Options
    private let accept: (Channel) -> (any ChannelHandler)?
    private var descriptor: Int32
    private var event: OpaquePointer?
    private var pause: Timer?
    /// Where it listens; with the port that the system chose when it was asked for 0.
    package let localAddress: SocketAddress
    /// Called when no connection can be accepted for want of descriptors or memory, with the error number.
    package var onExhausted: ((Int32) -> Void)?

    /// Listens on `address`.
    ///
    /// Only on `loop`.
    ///
    /// - Parameter accept: gets each new channel, before its handshake, and returns who handles it; nil refuses it.
    package init(
        _ address: SocketAddress, on loop: EventLoop, options: Options = Options(),
        accept: @escaping (Channel) -> (any ChannelHandler)?
    ) throws(NetworkError) {
        loop.reactor.preconditionOnLoop()
        self.loop = loop
        self.options = options
        self.accept = accept
        descriptor = try Self.listen(
            address, isShared: options.isShared, bufferBytes: options.socketBufferBytes)
        localAddress = localSocketAddress(descriptor) ?? address
        unsafe event = event_new(
            loop.reactor.base, descriptor, Int16(EV_READ | EV_PERSIST), acceptEvent,
            Unmanaged.passUnretained(self).toOpaque())
        unsafe event_add(event, nil)
    }

    deinit {
        if let event = unsafe event { unsafe event_free(event) }
        if descriptor >= 0 { Glibc.close(descriptor) }
    }

    /// Whether an address is free to listen on.
    ///
    /// Sockets that share an address let any process of the same user join, so a second relay would quietly take half
    /// of the connections: ask here first. Nothing listens meanwhile, so no connection is taken and lost.
    package static func checkFree(_ address: SocketAddress) throws(NetworkError) {
        Glibc.close(try bind(address, isShared: false))
    }

    private static func listen(
        _ address: SocketAddress, isShared: Bool, bufferBytes: Int?
    ) throws(NetworkError) -> Int32 {
        let descriptor = try bind(address, isShared: isShared)
        if let bufferBytes {
            // Accepted sockets take it over. Linux grants twice as much, for its own bookkeeping.
            setOption(descriptor, SOL_SOCKET, SO_RCVBUF, Int32(clamping: bufferBytes))
            setOption(descriptor, SOL_SOCKET, SO_SNDBUF, Int32(clamping: bufferBytes))
        }
        guard Glibc.listen(descriptor, backlog) == 0 else { throw failure(descriptor, address) }
        return descriptor
    }

    private static func bind(_ address: SocketAddress, isShared: Bool) throws(NetworkError) -> Int32 {
        let descriptor: Int32
        switch makeSocket(family: address.family) {
        case .success(let new): descriptor = new
        case .failure(let failure): throw .cannotListen(address.description, errno: failure.code)
        }
        setOption(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
        if isShared { setOption(descriptor, SOL_SOCKET, SO_REUSEPORT, 1) }
        if address.family == AF_INET6 { setOption(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0) }
        let bound = unsafe address.withSockaddr { unsafe relay_bind(descriptor, $0, $1) }
        guard bound == 0 else { throw failure(descriptor, address) }
        return descriptor
    }

    /// What went wrong with a socket, which is closed.
    private static func failure(_ descriptor: Int32, _ address: SocketAddress) -> NetworkError {
        let code = errno
        Glibc.close(descriptor)
        return code == EADDRINUSE
            ? .addressInUse(address.description) : .cannotListen(address.description, errno: code)
    }

    /// Accepts what the system already holds, then listens no more.
    ///
    /// Channels go on.
    package func close() {
        guard descriptor >= 0 else { return }
        // A connection still in the queue would be reset when the socket closes.
        acceptReady(limit: Int(Self.backlog))
        if let event = unsafe event { unsafe event_free(event) }
        unsafe event = nil
        pause = nil
        Glibc.close(descriptor)
        descriptor = -1
    }

    fileprivate func acceptReady(limit: Int) {
        for _ in 0..<limit {
            let (accepted, remote) = unsafe SocketAddress.written { address, length in
                unsafe relay_accept(descriptor, address, length)
            }
            guard accepted >= 0 else {
                let code = errno
                if code == ECONNABORTED || code == EINTR { continue }
                if code != EAGAIN && code != EWOULDBLOCK { exhausted(code) }
                return
            }
            start(accepted, remote)
        }
    }

    private func start(_ accepted: Int32, _ remote: SocketAddress?) {
        setOption(accepted, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        let channel = Channel(on: loop, isTLS: options.tls != nil, handler: nil)
        channel.remoteAddress = remote
        guard let handler = accept(channel) else {
            Glibc.close(accepted)
            return channel.finish(.local)
        }
        channel.handler = handler
        if let tls = options.tls {
            channel.adopt(
                Transport(descriptor: accepted, server: tls.current), handshake: options.handshakeTimeout)
        } else {
            channel.adopt(Transport(descriptor: accepted), handshake: options.handshakeTimeout)
        }
    }

    /// Out of descriptors the socket stays readable: without a pause the loop would spin.
    private func exhausted(_ code: Int32) {
        onExhausted?(code)
        guard let event = unsafe event else { return }
        unsafe event_del(event)
        let timer = Timer(on: loop) { [weak self] in
            guard let self, let event = unsafe self.event else { return }
            unsafe event_add(event, nil)
        }
        timer.schedule(after: Self.exhaustedPause)
        pause = timer
    }
}

private func acceptEvent(_ descriptor: Int32, _ events: Int16, _ context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { return }
    unsafe Unmanaged<Listener>.fromOpaque(context).takeUnretainedValue().acceptReady(
        limit: Listener.acceptsPerTurn)
}
