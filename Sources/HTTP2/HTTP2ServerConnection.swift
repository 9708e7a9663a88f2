package import Network

/// Who serves a connection's requests.
///
/// All calls come on the connection's loop.
package protocol ServerConnectionHandler: AnyObject {
    /// The connection stands and speaks HTTP/2.
    func connectionOpened(_ connection: HTTP2ServerConnection)
    /// Something happened; `respond` and the other calls may be made at once or later.
    func connection(_ connection: HTTP2ServerConnection, event: ServerEvent)
    /// The connection is over; the last call, and it comes even where `connectionOpened` never did.
    func connectionClosed(_ connection: HTTP2ServerConnection, end: ConnectionEnd)
}

/// A server's HTTP/2 connection: a session on a channel.
///
/// Confined to the channel's loop.
///
/// Make one in `Listener`'s `accept` closure and return it there. Whatever is submitted leaves at the end of the turn.
package final class HTTP2ServerConnection: ChannelHandler {
    /// The value of the PING that `shutDown` sends; any other is the owner's.
    private static let shutdownPing: UInt64 = 0x7368_7574_646f_776e

    private let session: ServerSession
    private let pump: FramePump<ServerSession>
    private var handler: (any ServerConnectionHandler)?
    private var end: ConnectionEnd?
    private var shutdownTimer: Timer?

    /// A connection that tells `handler` everything, and holds it until it is closed.
    package init(
        limits: ServerLimits = ServerLimits(), handler: any ServerConnectionHandler
    ) throws(HTTP2Error) {
        session = try ServerSession(limits: limits)
        pump = FramePump(session)
        self.handler = handler
    }

    /// The channel, as long as the connection stands.
    package var channel: Channel? { pump.channel }

    /// How many requests are coming in, wait for an answer, or have an answer that isn't out yet.
    package var openStreamCount: Int { session.openStreamCount }

    // MARK: The owner's side

    /// Answers a request; see ``ServerSession/respond(to:_:body:)``.
    @discardableResult
    package func respond(to stream: StreamID, _ fields: HeaderFields, body: [UInt8] = []) -> Bool {
        let isTaken = session.respond(to: stream, fields, body: body)
        if isTaken { flushAtTurnEnd() }
        return isTaken
    }

    /// Ends one stream with RST_STREAM; REFUSED_STREAM tells the client that nothing was done for it.
    package func reset(_ stream: StreamID, _ code: ErrorCode) {
        submit { session throws(HTTP2Error) in try session.reset(stream, code) }
    }

    /// Changes the limit of concurrent streams; it holds once `ServerEvent.settingsAcknowledged` has come.
    package func setMaxConcurrentStreams(_ count: UInt32) {
        submit { session throws(HTTP2Error) in try session.setMaxConcurrentStreams(count) }
    }

    /// Sends a PING; `ServerEvent.pingAcknowledged` comes with the same value.
    package func ping(_ value: UInt64) {
        submit { session throws(HTTP2Error) in try session.ping(value) }
    }

    /// Sends GOAWAY: streams up to `lastStreamID` (default: the newest one seen) are still served, others ignored.
    ///
    /// The connection closes when the last of them is done.
    package func goAway(_ code: ErrorCode, lastStreamID: StreamID? = nil, debugData: [UInt8] = []) {
        submit { session throws(HTTP2Error) in
            try session.goAway(code, lastStreamID: lastStreamID, debugData: debugData)
        }
    }

    /// Ends in order: announces it, gives the client a round trip to hear it, serves what it has sent, closes.
    ///
    /// What isn't done by `deadline` is cut off.
    package func shutDown(deadline: Duration) {
        guard let channel, shutdownTimer == nil else { return }
        let timer = Timer(on: channel.loop) { [weak self] in self?.close() }
        timer.schedule(after: deadline)
        shutdownTimer = timer
        submit { session throws(HTTP2Error) in
            try session.announceShutdown()
            try session.ping(Self.shutdownPing)
        }
    }

    /// Closes at once: what isn't answered never will be.
    package func close() {
        pump.channel?.close()
    }

    /// From now on reads nothing and writes nothing, as behind a broken network.
    ///
    /// For tests of clients.
    package func stall() {
        pump.isStalled = true
        pump.channel?.pauseReading()
    }

    /// Reads and writes again after ``stall()``, beginning with what waited meanwhile.
    package func resume() {
        guard pump.isStalled else { return }
        pump.isStalled = false
        pump.channel?.resumeReading()
        flushAtTurnEnd()
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
        moveFrames()
        // A session that is over has done so already, and asking twice closes at once.
        if channel.isOpen { channel.closeAfterFlush(deadline: FramePump<ServerSession>.closeDeadline) }
    }

    package func channelWritable(_ channel: Channel) {
        flushAtTurnEnd()
    }

    package func channelClosed(_ channel: Channel, reason: ChannelCloseReason) {
        pump.stop()
        shutdownTimer = nil
        handler?.connectionClosed(self, end: end ?? .channel(reason))
        handler = nil
    }

    // MARK: Inside

    private func submit(_ body: (ServerSession) throws(HTTP2Error) -> Void) {
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

    private func moveFrames() {
        do {
            try pump.flush()
        } catch {
            fail(session.failure(error))
        }
        if let fault = session.peerFault, end == nil { end = .protocolFailure(fault) }
    }

    private func drainEvents() {
        session.drainEvents { event in
            if event == .pingAcknowledged(Self.shutdownPing) {
                goAway(.noError)
            } else {
                handler?.connection(self, event: event)
            }
        }
    }

    private func fail(_ reason: ConnectionEnd) {
        if end == nil { end = reason }
        pump.channel?.close()
    }
}

extension ServerSession {
    /// The end that an error means, in the library's most telling words.
    fileprivate func failure(_ error: HTTP2Error) -> ConnectionEnd {
        .protocolFailure(peerFault ?? diagnostic ?? "\(error)")
    }
}
