package import Network

/// Receives the events of a client connection.
///
/// All calls are made on the connection's loop.
package protocol ClientConnectionHandler: AnyObject {
    /// The connection is established and uses HTTP/2.
    func connectionOpened(_ connection: HTTP2ClientConnection)
    /// An event; requests may be submitted immediately.
    func connection(_ connection: HTTP2ClientConnection, event: ClientEvent)
    /// The connection closed. This is the last call; every request has had its event.
    func connectionClosed(_ connection: HTTP2ClientConnection, end: ConnectionEnd)
}

/// A client's HTTP/2 connection: a session on a channel.
///
/// Confined to the channel's loop. Sends submitted frames at the end of the turn.
package final class HTTP2ClientConnection: ChannelHandler, SessionConnection {
    let session: ClientSession
    let pump: FramePump<ClientSession>
    private var handler: (any ClientConnectionHandler)?
    var end: ConnectionEnd?
    private var channel: Channel?

    /// Creates a connection that reports to `handler` and retains it until the connection closes.
    package init(limits: ClientLimits, handler: any ClientConnectionHandler) throws(HTTP2Error) {
        session = try ClientSession(limits: limits)
        pump = FramePump(session)
        self.handler = handler
    }

    /// Connects; `connectionOpened` or `connectionClosed` follows.
    ///
    /// `timeout` covers name resolution, connecting and the handshake. Call this method only once. `tls` must offer
    /// `h2` in ALPN.
    package func connect(
        to endpoint: Endpoint, through proxy: ConnectProxy? = nil, tls: TLSClientContext, on loop: EventLoop,
        timeout: Duration
    ) {
        precondition(channel == nil, "a connection connects once")
        channel = Channel.connect(
            to: endpoint, through: proxy, tls: tls, on: loop, timeout: timeout, handler: self)
    }

    /// Takes over a channel that has just been established and whose peer chose `h2`; `connectionOpened` follows.
    package func take(_ channel: Channel) {
        precondition(self.channel == nil, "a connection connects once")
        self.channel = channel
        channel.handler = self
        channelActive(channel)
    }

    /// The number of requests waiting for a response.
    package var openStreamCount: Int { session.openStreamCount }

    /// The server's stream limit.
    package var streamLimit: Int { session.streamLimit }

    /// Whether `submit` would accept a request now.
    package var canSubmit: Bool { pump.channel != nil && end == nil && session.canSubmit }

    /// The server's address once connected.
    package var remoteAddress: SocketAddress? { channel?.remoteAddress }

    /// The incomplete response to an open or failed request; `nil` until its status has arrived.
    ///
    /// Valid only until the request's event has been handled.
    package func partialResponse(_ slot: StreamSlot) -> ClientResponse? {
        session.streams.partialResponse(slot)
    }

    // MARK: The owner's side

    /// Sends a request; see ``ClientSession/submit(_:body:)``.
    package func submit(_ fields: HeaderFields, body: [UInt8]) throws(HTTP2Error) -> StreamSlot {
        guard pump.channel != nil, end == nil else { throw .noNewStreams }
        let slot = try session.submit(fields, body: body)
        pump.unflushedBytes += body.count + fields.listSize
        if pump.unflushedBytes >= FramePump<ClientSession>.pieceBytes { moveFrames(onlyWholePieces: true) }
        flushAtTurnEnd()
        return slot
    }

    /// Cancels a request with RST_STREAM; its event is a failure, unless the response arrived first.
    package func cancel(_ slot: StreamSlot) {
        submit { session throws(HTTP2Error) in try session.cancel(slot) }
    }

    /// Sends a PING; `ClientEvent.pingAcknowledged` follows with the same value.
    package func ping(_ value: UInt64) {
        submit { session throws(HTTP2Error) in try session.ping(value) }
    }

    /// Sends GOAWAY and closes after the last response; call `close` if that takes too long.
    package func finish() {
        submit { session throws(HTTP2Error) in try session.goAway() }
    }

    /// Closes immediately; open requests fail as `connectionLost`.
    package func close() {
        channel?.close()
    }

    // MARK: ChannelHandler

    package func channelActive(_ channel: Channel) {
        guard start(channel) else { return }
        handler?.connectionOpened(self)
        flushAtTurnEnd()
    }

    package func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        unsafe receive(bytes)
    }

    package func channelReadEnded(_ channel: Channel) {
        // A server that has closed its write side sends no more responses.
        if end == nil { end = .channel(.peer) }
        channel.close()
    }

    package func channelWritable(_ channel: Channel) {
        flushAtTurnEnd()
    }

    package func channelClosed(_ channel: Channel, reason: ChannelCloseReason) {
        pump.stop()
        self.channel = nil
        session.abandon()
        drainEvents()
        handler?.connectionClosed(self, end: end ?? .channel(reason))
        handler = nil
    }

    func drainEvents() {
        session.drainEvents { handler?.connection(self, event: $0) }
    }
}
