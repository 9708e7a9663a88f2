internal import HTTP2
internal import Network

/// One connection of a sender: HTTP/2 if the service chooses it, else HTTP/1.1 with one request at a time.
///
/// Confined to the loop. Every request's end is reported once, before the connection's end.
final class PushConnection: ChannelHandler, ClientConnectionHandler {
    /// How a request ended.
    enum End {
        /// With a response, which may be incomplete: its status decides the outcome.
        case response(ClientResponse)
        case failure(StreamFailure)
    }

    let number: UInt64
    /// Retained until the connection closes.
    private var sender: Sender?
    private let usesProxy: Bool
    private var channel: Channel?
    private var http2: HTTP2ClientConnection?
    /// The parser for the current HTTP/1.1 response; `nil` between requests.
    private var parser: ResponseParser?
    /// The push that each slot's request carries; 0 if it has ended or was cancelled.
    private var pushes: [UInt64] = []
    private(set) var isOpen = false

    init(_ number: UInt64, of sender: Sender, usesProxy: Bool) {
        self.number = number
        self.sender = sender
        self.usesProxy = usesProxy
    }

    func connect(
        to endpoint: Endpoint, through proxy: ConnectProxy?, onlyPublic: Bool, tls: TLSClientContext,
        on loop: EventLoop, timeout: Duration
    ) {
        channel = Channel.connect(
            to: endpoint, through: proxy, onlyPublic: onlyPublic, tls: tls, on: loop, timeout: timeout,
            handler: self)
    }

    /// Sends a request and returns its slot.
    func send(_ fields: HeaderFields, _ body: [UInt8], for push: UInt64) throws(HTTP2Error) -> StreamSlot {
        var slot = 0
        if let http2 {
            slot = try http2.submit(fields, body: body)
        } else {
            guard let channel, channel.isOpen, parser == nil else { throw .noNewStreams }
            parser = ResponseParser()
            channel.write(RequestHeaders.head(fields) + body)
        }
        while pushes.count <= slot { pushes.append(0) }
        pushes[slot] = push
        return slot
    }

    /// Cancels a request and returns the response so far; the request's end is still reported, without its push.
    func cancel(_ slot: StreamSlot) -> ClientResponse? {
        pushes[slot] = 0
        guard let http2 else {
            defer { close() }
            return parser?.response
        }
        defer { http2.cancel(slot) }
        return http2.partialResponse(slot)
    }

    func ping() {
        http2?.ping(0)
    }

    /// Closes after the last response.
    func finish() {
        if let http2 { http2.finish() } else { close() }
    }

    /// Closes immediately.
    func close() {
        channel?.close()
    }

    private func end(_ slot: StreamSlot, _ end: End) {
        let push = pushes[slot]
        pushes[slot] = 0
        sender?.ended(push == 0 ? nil : push, on: self, end)
    }

    // MARK: ChannelHandler, until the protocol is known and with HTTP/1.1

    func channelActive(_ channel: Channel) {
        isOpen = true
        guard channel.alpn == "h2" else { return sender?.opened(self, isHTTP2: false) ?? () }
        var limits = ClientLimits()
        limits.keptFields = ["retry-after"]
        limits.bodyBytes = Answer.bodyBytesMax
        do {
            let connection = try HTTP2ClientConnection(limits: limits, handler: self)
            http2 = connection
            connection.take(channel)
        } catch {
            channel.close()
        }
    }

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        // Bytes that arrive without a request, or after its response, are unexpected.
        guard let progress = unsafe parser?.take(bytes) else { return close() }
        switch progress {
        case .incomplete: break
        case .complete:
            if parser?.keepsConnection != true { sender?.leaves(self) }
            endRequest()
        case .malformed:
            sender?.leaves(self)
            endRequest(.reset(.protocolError))
        }
    }

    func channelReadEnded(_ channel: Channel) {
        channel.close()
    }

    func channelWritable(_ channel: Channel) {}

    func channelClosed(_ channel: Channel, reason: ChannelCloseReason) {
        endRequest()
        closed(cause(reason, at: channel.stage), hadSocket: channel.stage != .name)
    }

    /// Ends the HTTP/1.1 request; reports its response if the response's head is complete.
    private func endRequest(_ failure: StreamFailure = .connectionLost) {
        guard let response = parser.map(\.response) else { return }
        parser = nil
        end(0, response.map { .response($0) } ?? .failure(failure))
    }

    private func closed(_ cause: Unreachable.Cause, hadSocket: Bool) {
        let sender = sender
        self.sender = nil
        channel = nil
        http2 = nil
        sender?.closed(self, cause, hadSocket: hadSocket)
    }

    /// Why a connection ended, given the stage that it reached.
    private func cause(_ reason: ChannelCloseReason, at stage: ConnectStage) -> Unreachable.Cause {
        switch (reason, stage) {
        case (.notPublic, _): .addressNotPublic
        case (.proxy, _), (_, .proxy): .proxyFailed
        case (.unresolved, _): usesProxy ? .proxyFailed : .nameNotResolved
        case (.connectFailed, _): usesProxy ? .proxyFailed : .connectFailed
        case (.connectTimeout, _): .connectTimeout
        case (_, .handshake): .tlsFailed
        default: .connectionClosed
        }
    }

    // MARK: ClientConnectionHandler

    func connectionOpened(_ connection: HTTP2ClientConnection) {
        sender?.opened(self, isHTTP2: true)
    }

    func connection(_ connection: HTTP2ClientConnection, event: ClientEvent) {
        switch event {
        case .response(let slot, let response): end(slot, .response(response))
        case .failure(let slot, let failure):
            end(slot, connection.partialResponse(slot).map { .response($0) } ?? .failure(failure))
        case .streamLimit(let limit): sender?.limitChanged(self, to: limit)
        case .goAway: sender?.leaves(self)
        case .pingAcknowledged: sender?.ponged(self)
        }
    }

    func connectionClosed(_ connection: HTTP2ClientConnection, end: ConnectionEnd) {
        if case .protocolFailure = end { return closed(.protocolError, hadSocket: true) }
        closed(.connectionClosed, hadSocket: true)
    }
}
