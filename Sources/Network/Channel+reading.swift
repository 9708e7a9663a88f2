/// Reading, in turns with other channels.
extension Channel {
    /// Bytes of TLS records that one channel takes in one turn, so that no peer keeps the loop to itself.
    ///
    /// Without TLS it is one read.
    static let readBytesPerTurn = 64 * 1024
    /// Reads of one channel in one turn, each of one TLS record at most: a record has its price even if it carries one byte.
    static let readsPerTurn = 64

    /// Stops reading, so that the peer is held back by TCP.
    package func pauseReading() {
        isPaused = true
        events?.setReading(false)
    }

    /// Reads again after ``pauseReading()``.
    package func resumeReading() {
        guard isPaused else { return }
        isPaused = false
        // What OpenSSL has read ahead makes no socket readable, so look once without an event.
        loop.atTurnEnd { [self] in readable() }
    }

    /// Reads what is there, up to the bounds of a turn.
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

    /// Fills the loop's buffer as far as the handler takes bytes at once, and returns how the last read ended.
    ///
    /// `.bytes` means that there may be more.
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
            // Level-triggered events tell of more: a read that finds nothing would cost a system call a turn.
            if transport?.mayHaveMore(after: count) != true { return (filled, .needsRead) }
        } while filled < room && readsLeft > 0 && (transport?.recordBytesReceived ?? 0) < bytesMax
        return (filled, .bytes(filled))
    }

    /// Does work that begins with reading once other channels have had their turn.
    func atNextTurn(_ work: @escaping (Channel) -> Void) {
        guard !hasTurn else { return }
        hasTurn = true
        // Level-triggered, the event would come again and again until then.
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
