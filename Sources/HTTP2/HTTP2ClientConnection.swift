package import Network

/// Who sends over a connection.
///
/// All calls come on the connection's loop.
package protocol ClientConnectionHandler: AnyObject {
    /// The connection stands and speaks HTTP/2.
    func connectionOpened(_ connection: HTTP2ClientConnection)
    /// Something happened; requests may be submitted at once.
    func connection(_ connection: HTTP2ClientConnection, event: ClientEvent)
    /// The connection is over; the last call. Every request has had its event.
    func connectionClosed(_ connection: HTTP2ClientConnection, end: ConnectionEnd)
}

/// A client's HTTP/2 connection: a session on a channel.
///
/// Confined to the channel's loop.
///
/// Whatever is submitted leaves at the end of the turn.
package final class HTTP2ClientConnection: ChannelHandler {
    private let session: ClientSession
    private let pump: FramePump<ClientSession>
    private var handler: (any ClientConnectionHandler)?
    private var end: ConnectionEnd?
    private var channel: Channel?
    /// About how much was submitted since the last flush.
    private var unflushedBytes = 0

    /// A connection that tells `handler` everything, and holds it until it is closed.
    package init(limits: ClientLimits, handler: any ClientConnectionHandler) throws(HTTP2Error) {
        session = try ClientSession(limits: limits)
        pump = FramePump(session)
        self.handler = handler
    }

    /// Begins to connect, with `timeout` for name, socket and handshake.
    ///
    /// Once.
    ///
    /// `tls` has to offer `h2` in ALPN. `connectionOpened` or `connectionClosed` follows.
    package func connect(to endpoint: Endpoint, tls: TLSClientContext, on loop: EventLoop, timeout: Duration)
    {
        precondition(channel == nil, "a connection connects once")
        channel = Channel.connect(to: endpoint, tls: tls, on: loop, timeout: timeout, handler: self)
    }

    /// How many requests wait for their response.
    package var openStreamCount: Int { session.openStreamCount }

    /// How many streams the server allows at once.
    package var streamLimit: Int { session.streamLimit }

    /// Whether `submit` would take a request now.
    package var canSubmit: Bool { pump.channel != nil && end == nil && session.canSubmit }

    /// Whom it is connected to, once it is.
    package var remoteAddress: SocketAddress? { channel?.remoteAddress }

    // MARK: The owner's side

    /// Sends a request; see ``ClientSession/submit(_:body:)``.
    package func submit(_ fields: HeaderFields, body: [UInt8]) throws(HTTP2Error) -> StreamSlot {
        guard pump.channel != nil, end == nil else { throw .noNewStreams }
        let slot = try session.submit(fields, body: body)
        unflushedBytes += body.count + fields.listSize
        if unflushedBytes >= FramePump<ClientSession>.pieceBytes { moveFrames(onlyWholePieces: true) }
        flushAtTurnEnd()
        return slot
    }

    /// Gives a request up with RST_STREAM; its event is a failure, unless its response was faster.
    package func cancel(_ slot: StreamSlot) {
        submit { session throws(HTTP2Error) in try session.cancel(slot) }
    }

    /// Sends a PING; `ClientEvent.pingAcknowledged` comes with the same value.
    package func ping(_ value: UInt64) {
        submit { session throws(HTTP2Error) in try session.ping(value) }
    }

    /// Sends GOAWAY and closes when the last open request has its response; `close` if that takes too long.
    package func finish() {
        submit { session throws(HTTP2Error) in try session.goAway() }
    }

    /// Closes at once; open requests fail as `connectionLost`.
    package func close() {
        channel?.close()
    }

    // MARK: ChannelHandler

    package func channelActive(_ channel: Channel) {
        pump.start(channel)
        guard channel.alpn == "h2" else { return fail(.notHTTP2) }
        handler?.connectionOpened(self)
        flushAtTurnEnd()
    }

    package func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        guard end == nil else { return }
        do {
            try unsafe session.receive(bytes)
        } catch {
            drainEvents()
            return fail(session.failure(error))
        }
        drainEvents()
        flushAtTurnEnd()
    }

    package func channelReadEnded(_ channel: Channel) {
        // A server that sends no more answers no more.
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

    // MARK: Inside

    private func submit(_ body: (ClientSession) throws(HTTP2Error) -> Void) {
        do {
            try body(session)
            flushAtTurnEnd()
        } catch {
            fail(session.failure(error))
        }
    }

    private func flushAtTurnEnd() {
        guard pump.needsFlush() else { return }
        pump.channel?.loop.atTurnEnd { [self] in
            pump.beginFlush()
            moveFrames()
            drainEvents()
        }
    }

    /// Lets frames leave.
    ///
    /// What that brings about is told later, never from inside a call of the owner's.
    private func moveFrames(onlyWholePieces: Bool = false) {
        unflushedBytes = 0
        do {
            try pump.flush(onlyWholePieces: onlyWholePieces)
        } catch {
            fail(session.failure(error))
        }
        if let fault = session.peerFault, end == nil { end = .protocolFailure(fault) }
    }

    private func drainEvents() {
        session.drainEvents { handler?.connection(self, event: $0) }
    }

    private func fail(_ reason: ConnectionEnd) {
        if end == nil { end = reason }
        channel?.close()
    }
}

extension ClientSession {
    /// The end that an error means, in the library's most telling words.
    fileprivate func failure(_ error: HTTP2Error) -> ConnectionEnd {
        .protocolFailure(peerFault ?? diagnostic ?? "\(error)")
    }
}
