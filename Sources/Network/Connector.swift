import CEvent
import Glibc

extension Channel {
    /// Connects to `endpoint`, with TLS if `tls` is given; `timeout` covers name resolution, connecting and the
    /// handshake.
    ///
    /// Resolves the name and tries the addresses in turn, each with a share of the time left. `handler` receives
    /// ``ChannelHandler/channelActive(_:)`` or ``ChannelHandler/channelClosed(_:reason:)``.
    ///
    /// - Parameters:
    ///   - proxy: The proxy to connect through, which then resolves the name; `nil` connects directly.
    ///   - onlyPublic: For hosts named by untrusted users: connects only to public addresses, and a slow lookup delays
    ///     only lookups for such hosts. Has no effect with a proxy.
    package static func connect(
        to endpoint: Endpoint, through proxy: ConnectProxy? = nil, onlyPublic: Bool = false,
        tls: TLSClientContext?, on loop: EventLoop, timeout: Duration, handler: any ChannelHandler
    ) -> Channel {
        let channel = Channel(on: loop, isTLS: tls != nil, handler: handler)
        let connector = Connector(
            channel: channel, endpoint: endpoint, proxy: proxy, onlyPublic: onlyPublic && proxy == nil,
            tls: tls,
            deadline: loop.now + timeout)
        channel.startTimer(timeout) { [weak channel] in channel?.finish(.connectTimeout) }
        connector.start()
        return channel
    }
}

/// One attempt to connect, covering all addresses of a name.
///
/// Retains itself until it is done.
@safe private final class Connector {
    /// The minimum time for each address, as far as the total timeout allows.
    static let attemptMin = Duration.milliseconds(250)

    private weak var channel: Channel?
    private let loop: EventLoop
    private let endpoint: Endpoint
    private let proxy: ConnectProxy?
    private let onlyPublic: Bool
    private var tunnel: ProxyTunnel?
    private let tls: TLSClientContext?
    private let deadline: MonotonicTime
    private var addresses: [SocketAddress] = []
    private var lastError: Int32 = 0
    private var descriptor: Int32 = -1
    private var event: OpaquePointer?
    private var timer: Timer?
    private var itself: Connector?

    init(
        channel: Channel, endpoint: Endpoint, proxy: ConnectProxy?, onlyPublic: Bool, tls: TLSClientContext?,
        deadline: MonotonicTime
    ) {
        self.channel = channel
        loop = channel.loop
        self.endpoint = endpoint
        self.proxy = proxy
        self.onlyPublic = onlyPublic
        self.tls = tls
        self.deadline = deadline
    }

    func start() {
        itself = self
        let endpoint = proxy?.endpoint ?? endpoint
        if let address = SocketAddress(ip: endpoint.host, port: endpoint.port) {
            // Deferred, because failing now would call the handler before `connect` returns.
            return loop.atTurnEnd { [self] in tryAll([address]) }
        }
        let bound = LoopBound(self, on: loop)
        let resolver = onlyPublic ? Resolver.crowd : .shared
        resolver.resolve(endpoint, on: loop) { result in
            bound.value.resolved(result)
        }
    }

    private func resolved(_ result: Result<[SocketAddress], Resolver.LookupFailure>) {
        switch result {
        case .success(let found): tryAll(found)
        case .failure(let failure):
            end { $0.finish(.unresolved(failure.text)) }
        }
    }

    private func tryAll(_ found: [SocketAddress]) {
        addresses = onlyPublic ? found.filter(\.isPublic) : found
        guard !addresses.isEmpty else { return end { $0.finish(.notPublic) } }
        tryNext()
    }

    private func tryNext() {
        dropAttempt()
        guard let channel, !channel.isClosed, !addresses.isEmpty else {
            return end { $0.finish(.connectFailed(errno: self.lastError)) }
        }
        channel.stage = .socket
        let address = addresses.removeFirst()
        switch makeSocket(family: address.family) {
        case .failure(let failure):
            lastError = failure.code
            return loop.atTurnEnd { [self] in tryNext() }
        case .success(let new):
            descriptor = new
        }
        let status = unsafe address.withSockaddr { unsafe relay_connect(descriptor, $0, $1) }
        guard status == 0 || errno == EINPROGRESS else {
            lastError = errno
            return loop.atTurnEnd { [self] in tryNext() }
        }
        let left = deadline.since(loop.now)
        let share = max(Self.attemptMin, left / (addresses.count + 1))
        let timer = Timer(on: loop) { [weak self] in
            self?.lastError = ETIMEDOUT
            self?.tryNext()
        }
        timer.schedule(after: share)
        self.timer = timer
        unsafe event = event_new(
            loop.reactor.base, descriptor, Int16(EV_WRITE), connectEvent,
            Unmanaged.passUnretained(self).toOpaque())
        unsafe event_add(event, nil)
    }

    fileprivate func connected() {
        let code = pendingError(descriptor)
        guard code == 0 else {
            lastError = code
            return tryNext()
        }
        let connected = descriptor
        descriptor = -1
        dropAttempt()
        guard let proxy else { return adopt(connected) }
        channel?.stage = .proxy
        tunnel = ProxyTunnel(
            connected, request: proxy.request(for: endpoint), on: loop, within: deadline.since(loop.now)
        ) { [self] reason in
            guard let reason else { return adopt(connected) }
            Glibc.close(connected)
            end { $0.finish(reason) }
        }
    }

    /// Passes a connected socket to the channel.
    private func adopt(_ connected: Int32) {
        end { channel in
            channel.remoteAddress = peerSocketAddress(connected)
            let left = self.deadline.since(self.loop.now)
            if let tls = self.tls {
                channel.adopt(
                    Transport(descriptor: connected, client: tls.settings, host: self.endpoint.host),
                    handshake: left)
            } else {
                channel.adopt(Transport(descriptor: connected), handshake: left)
            }
        } otherwise: {
            Glibc.close(connected)
        }
    }

    private func dropAttempt() {
        timer = nil
        if let pending = unsafe event { unsafe event_free(pending) }
        unsafe event = nil
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }

    private func end(_ body: (Channel) -> Void, otherwise: () -> Void = {}) {
        dropAttempt()
        if let channel, !channel.isClosed { body(channel) } else { otherwise() }
        loop.atTurnEnd { [self] in
            tunnel = nil
            itself = nil
        }
    }
}

private func connectEvent(_ descriptor: Int32, _ events: Int16, _ context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { return }
    unsafe Unmanaged<Connector>.fromOpaque(context).takeUnretainedValue().connected()
}
