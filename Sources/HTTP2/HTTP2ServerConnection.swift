package import Network

/// Receives the requests and events of a server connection.
///
/// All calls are made on the connection's loop.
package protocol ServerConnectionHandler: AnyObject {
    /// The connection is established and uses HTTP/2.
    func connectionOpened(_ connection: HTTP2ServerConnection)
    /// An event; `respond` and other calls may be made immediately or later.
    func connection(_ connection: HTTP2ServerConnection, event: ServerEvent)
    /// The connection closed. This is the last call, made even if `connectionOpened` was not.
    func connectionClosed(_ connection: HTTP2ServerConnection, end: ConnectionEnd)
}

/// A server's HTTP/2 connection: a session on a channel.
///
/// Confined to the channel's loop. Create it in `Listener`'s `accept` closure and return it. Sends submitted frames at
/// the end of the turn.
package final class HTTP2ServerConnection: ChannelHandler, SessionConnection {
    /// The value of the PING that `shutDown` sends; owners use other values.
    private static let shutdownPing: UInt64 = 0x7368_7574_646f_776e

    let session: ServerSession
    let pump: FramePump<ServerSession>
    private var handler: (any ServerConnectionHandler)?
    var end: ConnectionEnd?
    private var shutdownTimer: Timer?

    /// Creates a connection that reports to `handler` and retains it until the connection closes.
    package init(
        limits: ServerLimits = ServerLimits(), handler: any ServerConnectionHandler
    ) throws(HTTP2Error) {
        session = try ServerSession(limits: limits)
        pump = FramePump(session)
        self.handler = handler
    }

    /// The channel, or `nil` unless the connection is open.
    package var channel: Channel? { pump.channel }

    /// The number of requests being received, waiting for a response or with an unsent response.
    package var openStreamCount: Int { session.openStreamCount }

    // MARK: The owner's side

    /// Answers a request; see ``ServerSession/respond(to:_:body:)``.
    @discardableResult
    package func respond(to stream: StreamID, _ fields: HeaderFields, body: [UInt8] = []) -> Bool {
        let isTaken = session.respond(to: stream, fields, body: body)
        if isTaken { flushAtTurnEnd() }
        return isTaken
    }

    /// Resets a stream with RST_STREAM; REFUSED_STREAM tells the client that the request was not processed.
    package func reset(_ stream: StreamID, _ code: ErrorCode) {
        submit { session throws(HTTP2Error) in try session.reset(stream, code) }
    }

    /// Changes the stream limit; the new one applies once `ServerEvent.settingsAcknowledged` follows.
    package func setMaxConcurrentStreams(_ count: UInt32) {
        submit { session throws(HTTP2Error) in try session.setMaxConcurrentStreams(count) }
    }

    /// Sends a PING; `ServerEvent.pingAcknowledged` follows with the same value.
    package func ping(_ value: UInt64) {
        submit { session throws(HTTP2Error) in try session.ping(value) }
    }

    /// Sends GOAWAY: serves streams up to `lastStreamID` (default: the newest received) and ignores later ones.
    ///
    /// The connection closes when the last of them is done.
    package func goAway(_ code: ErrorCode, lastStreamID: StreamID? = nil, debugData: [UInt8] = []) {
        submit { session throws(HTTP2Error) in
            try session.goAway(code, lastStreamID: lastStreamID, debugData: debugData)
        }
    }

    /// Shuts down gracefully: gives notice, waits one round trip, serves the requests already received, and closes.
    ///
    /// Closes forcibly at `deadline`.
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

    /// Closes immediately; unanswered requests stay unanswered.
    package func close() {
        pump.channel?.close()
    }

    /// Stops reading and writing, like a broken network.
    ///
    /// For tests of clients.
    package func stall() {
        pump.isStalled = true
        pump.channel?.pauseReading()
    }

    /// Resumes reading and writing after ``stall()``, beginning with buffered data.
    package func resume() {
        guard pump.isStalled else { return }
        pump.isStalled = false
        pump.channel?.resumeReading()
        flushAtTurnEnd()
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
        moveFrames()
        // A finished session has already called this, and a second call would close the channel immediately.
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

    func drainEvents() {
        session.drainEvents { event in
            if event == .pingAcknowledged(Self.shutdownPing) {
                goAway(.noError)
            } else {
                handler?.connection(self, event: event)
            }
        }
    }
}
