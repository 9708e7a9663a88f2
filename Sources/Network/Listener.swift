import CEvent
import Glibc

/// A listening TCP or Unix socket, confined to one event loop.
@safe package final class Listener {
    /// The length of the kernel's accept queue.
    static let backlog: Int32 = 1024
    /// The maximum number of connections accepted per turn, so that open connections get their share.
    static let acceptsPerTurn = 128
    /// The pause when the process runs out of file descriptors.
    static let exhaustedPause = Duration.milliseconds(100)

    /// The options of a listener.
    package struct Options {
        /// Whether several listeners share the address and its connections (`SO_REUSEPORT`).
        package var isShared = false
        /// The TLS certificate; nil for plain TCP.
        package var tls: TLSServerContext?
        /// The time limit for a TLS handshake.
        package var handshakeTimeout = Duration.seconds(10)
        /// The path of a Unix socket to listen on instead of an address.
        package var unixPath: String?
        /// The size of each connection's kernel buffers, per direction; nil for the system's default.
        package var socketBufferBytes: Int?

        package init() {}
    }

    private let loop: EventLoop
    private let options: Options
    private let accept: (Channel) -> (any ChannelHandler)?
    private var descriptor: Int32
    /// The file of a Unix socket, removed when the listener closes.
    private var file: UnixSocket?
    private var event: OpaquePointer?
    private var pause: Timer?
    /// The address; port 0 is replaced by the port that the system chose.
    package let localAddress: SocketAddress
    /// Called with the error number when connections can't be accepted for lack of descriptors or memory.
    package var onExhausted: ((Int32) -> Void)?

    /// Listens on `address`, or on the Unix socket given in `options`.
    ///
    /// Call it only on `loop`.
    ///
    /// - Parameter accept: Receives each new channel before its handshake and returns its handler; nil refuses the
    ///   connection.
    package init(
        _ address: SocketAddress, on loop: EventLoop, options: Options = Options(),
        accept: @escaping (Channel) -> (any ChannelHandler)?
    ) throws(NetworkError) {
        loop.reactor.preconditionOnLoop()
        self.loop = loop
        self.options = options
        self.accept = accept
        if let path = options.unixPath {
            let (file, listening) = try UnixSocket.listen(at: path, backlog: Self.backlog)
            self.file = file
            descriptor = listening
        } else {
            descriptor = try Self.listen(
                address, isShared: options.isShared, bufferBytes: options.socketBufferBytes)
        }
        localAddress = localSocketAddress(descriptor) ?? address
        unsafe event = event_new(
            loop.reactor.base, descriptor, Int16(EV_READ | EV_PERSIST), acceptEvent,
            Unmanaged.passUnretained(self).toOpaque())
        unsafe event_add(event, nil)
    }

    deinit {
        if let event = unsafe event { unsafe event_free(event) }
        file?.remove()
        if descriptor >= 0 { Glibc.close(descriptor) }
    }

    /// Checks that a Unix socket's path is free; a socket file without a listener counts as free.
    package static func checkFree(unixPath path: String) throws(NetworkError) {
        try UnixSocket.checkFree(path)
    }

    /// Checks that an address is free.
    ///
    /// Any process of the same user can join sockets that share an address, so a second relay would silently take half
    /// of the connections unless it checks first. The check doesn't listen, so it loses no connection.
    package static func checkFree(_ address: SocketAddress) throws(NetworkError) {
        Glibc.close(try bind(address, isShared: false))
    }

    private static func listen(
        _ address: SocketAddress, isShared: Bool, bufferBytes: Int?
    ) throws(NetworkError) -> Int32 {
        let descriptor = try bind(address, isShared: isShared)
        if let bufferBytes {
            // Accepted sockets inherit these sizes, which Linux doubles for its bookkeeping.
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

    /// Closes the socket and returns the error.
    private static func failure(_ descriptor: Int32, _ address: SocketAddress) -> NetworkError {
        let code = errno
        Glibc.close(descriptor)
        return code == EADDRINUSE
            ? .addressInUse(address.description) : .cannotListen(address.description, errno: code)
    }

    /// Accepts the connections in the kernel's queue, then stops listening.
    ///
    /// Channels stay open.
    package func close() {
        guard descriptor >= 0 else { return }
        file?.remove()
        file = nil
        // Closing the socket would reset the connections still in the queue.
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

    /// Pauses accepting: without free descriptors, the socket stays readable and the loop would spin.
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
