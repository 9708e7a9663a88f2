import CEvent
import Glibc

extension Channel {
    /// Connects to `endpoint`, under TLS when `tls` is given, in `timeout` for the name, the socket and the handshake.
    ///
    /// The addresses are looked up anew and tried one after the other, each with its share of the time. `handler`
    /// hears ``ChannelHandler/channelActive(_:)``, or ``ChannelHandler/channelClosed(_:reason:)`` with the reason.
    package static func connect(
        to endpoint: Endpoint, tls: TLSClientContext?, on loop: EventLoop, timeout: Duration,
        handler: any ChannelHandler
    ) -> Channel {
        let channel = Channel(on: loop, isTLS: tls != nil, handler: handler)
        let connector = Connector(
            channel: channel, endpoint: endpoint, tls: tls, deadline: loop.now + timeout)
        channel.startTimer(timeout) { [weak channel] in channel?.finish(.connectTimeout) }
        connector.start()
        return channel
    }
}

/// One client's way to a connected socket.
///
/// Lives in its timers' and events' closures until it is done.
@safe private final class Connector {
    /// No address gets less time than this, as long as there is any left.
    static let attemptMin = Duration.milliseconds(250)

    private weak var channel: Channel?
    private let loop: EventLoop
    private let endpoint: Endpoint
    private let tls: TLSClientContext?
    private let deadline: MonotonicTime
    private var addresses: [SocketAddress] = []
    private var lastError: Int32 = 0
    private var descriptor: Int32 = -1
    private var event: OpaquePointer?
    private var timer: Timer?
    private var itself: Connector?

    init(channel: Channel, endpoint: Endpoint, tls: TLSClientContext?, deadline: MonotonicTime) {
        self.channel = channel
        loop = channel.loop
        self.endpoint = endpoint
        self.tls = tls
        self.deadline = deadline
    }

    func start() {
        itself = self
        if let address = SocketAddress(ip: endpoint.host, port: endpoint.port) {
            addresses = [address]
            // Failing at once would call the handler before `connect` has returned.
            return loop.atTurnEnd { [self] in tryNext() }
        }
        let bound = LoopBound(self, on: loop)
        Resolver.shared.resolve(endpoint, on: loop) { result in
            bound.value.resolved(result)
        }
    }

    private func resolved(_ result: Result<[SocketAddress], Resolver.LookupFailure>) {
        switch result {
        case .success(let found):
            addresses = found
            tryNext()
        case .failure(let failure):
            end { $0.finish(.unresolved(failure.text)) }
        }
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
        loop.atTurnEnd { [self] in itself = nil }
    }
}

private func connectEvent(_ descriptor: Int32, _ events: Int16, _ context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { return }
    unsafe Unmanaged<Connector>.fromOpaque(context).takeUnretainedValue().connected()
}
