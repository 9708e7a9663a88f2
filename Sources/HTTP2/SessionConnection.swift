import Network

/// The common part of client and server connections: feeds the session, sends its frames, and ends after errors.
protocol SessionConnection: AnyObject {
    associatedtype Session: FrameEngine
    var session: Session { get }
    var pump: FramePump<Session> { get }
    /// Why the connection ended; nil while it is open.
    var end: ConnectionEnd? { get set }

    /// Passes the session's events to the handler.
    func drainEvents()
    /// Closes the channel immediately.
    func close()
}

extension SessionConnection {
    /// Starts HTTP/2 on a channel; false if the peer chose another protocol.
    func start(_ channel: Channel) -> Bool {
        pump.start(channel)
        guard channel.alpn == "h2" else {
            fail(.notHTTP2)
            return false
        }
        return true
    }

    /// Processes bytes from the peer.
    func receive(_ bytes: UnsafeRawBufferPointer) {
        guard end == nil else { return }
        do {
            try unsafe session.receive(bytes)
        } catch {
            drainEvents()
            return fail(error)
        }
        drainEvents()
        flushAtTurnEnd()
    }

    /// Runs a call that gives the session something to send.
    func submit(_ body: (Session) throws(HTTP2Error) -> Void) {
        do {
            try body(session)
            flushAtTurnEnd()
        } catch {
            fail(error)
        }
    }

    /// Sends the session's frames at the end of the loop's turn.
    func flushAtTurnEnd() {
        guard pump.needsFlush() else { return }
        pump.channel?.loop.atTurnEnd { [self] in
            pump.beginFlush()
            moveFrames()
            drainEvents()
        }
    }

    /// Moves frames to the channel.
    ///
    /// Reports no events, so that the owner isn't called back during its own calls.
    func moveFrames(onlyWholePieces: Bool = false) {
        do {
            try pump.flush(onlyWholePieces: onlyWholePieces)
        } catch {
            fail(error)
        }
        if let fault = session.peerFault, end == nil { end = .protocolFailure(fault) }
    }

    private func fail(_ error: HTTP2Error) {
        fail(.protocolFailure(session.peerFault ?? session.diagnostic ?? "\(error)"))
    }

    private func fail(_ reason: ConnectionEnd) {
        if end == nil { end = reason }
        close()
    }
}
