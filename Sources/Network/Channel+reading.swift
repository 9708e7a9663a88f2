/// Reading, with a limit per turn of the loop.
extension Channel {
    /// The maximum size in bytes of the TLS records that a channel reads per turn.
    ///
    /// Without TLS, a channel reads once per turn.
    static let readBytesPerTurn = 64 * 1024
    /// The maximum number of TLS records that a channel reads per turn: even a one-byte record is expensive.
    static let readsPerTurn = 64

    /// Stops reading, so that TCP flow control slows the peer down.
    package func pauseReading() {
        isPaused = true
        events?.setReading(false)
    }

    /// Resumes reading after ``pauseReading()``.
    package func resumeReading() {
        guard isPaused else { return }
        isPaused = false
        // Data that OpenSSL has already read triggers no socket event, so read once without one.
        loop.atTurnEnd { [self] in readable() }
    }

    /// Reads until the socket is empty or the turn's limit is reached.
    func readable() {
        let bytesMax = (transport?.recordBytesReceived ?? 0) + Self.readBytesPerTurn
        var readsLeft = Self.readsPerTurn
        while (state == .open && !isPaused || state == .closing) && !hasEnded {
            let (filled, last) = fillReadBuffer(&readsLeft, bytesMax: bytesMax)
            if filled > 0 && state == .open {
                unsafe handler?.channel(
                    self, received: UnsafeRawBufferPointer(rebasing: loop.reactor.readBuffer[..<filled]))
            }
            switch last {
            case .bytes: break
            case .needsRead: return armRead()
            case .needsWrite:
                events?.setWriting(true)
                return armRead()
            case .end: return readEnded()
            case .failed(let reason): return finish(reason)
            }
            guard readsLeft > 0, (transport?.recordBytesReceived ?? 0) < bytesMax else {
                return atNextTurn { $0.readable() }
            }
        }
    }

    /// Fills the loop's buffer up to the handler's limit and returns the result of the last read.
    ///
    /// `.bytes` means that more data may be available.
    private func fillReadBuffer(_ readsLeft: inout Int, bytesMax: Int) -> (filled: Int, last: TransportResult)
    {
        let buffer = unsafe loop.reactor.readBuffer
        let room = min(buffer.count, max(1, receiveBytesMax))
        var filled = 0
        repeat {
            let part = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<room])
            guard let result = unsafe transport?.read(into: part) else { return (filled, .needsRead) }
            guard case .bytes(let count) = result else { return (filled, result) }
            filled += count
            readsLeft -= 1
            // Level-triggered events report any data left; a read that finds none would cost one system call per turn.
            if transport?.mayHaveMore(after: count) != true { return (filled, .needsRead) }
        } while filled < room && readsLeft > 0 && (transport?.recordBytesReceived ?? 0) < bytesMax
        return (filled, .bytes(filled))
    }

    /// Schedules `work`, which begins by reading, for the next turn, after the other channels' events.
    func atNextTurn(_ work: @escaping (Channel) -> Void) {
        guard !hasTurn else { return }
        hasTurn = true
        // Events are level-triggered and would otherwise fire in every turn.
        events?.setReading(false)
        loop.atNextTurn { [self] in
            hasTurn = false
            work(self)
        }
    }

    private func readEnded() {
        hasEnded = true
        events?.setReading(false)
        switch state {
        case .open: handler?.channelReadEnded(self)
        case .closing: flush()
        case .connecting, .handshaking, .closed: break
        }
    }

    func armRead() {
        guard !isPaused || state == .closing, !hasEnded else { return }
        events?.setReading(true)
    }
}
