/// The requests of a client session: what each has got so far, and the events that its owner is still to be told.
struct ClientStreams {
    struct Stream {
        var id: Int32 = 0
        var body: [UInt8] = []
        var bodyOffset = 0
        var status = 0
        var isComplete = false
        var isSettled = false
        var wasNotSent = false
        var fields = HeaderFields()
        var responseBody: [UInt8] = []
    }

    let limits: ClientLimits
    private var slots = SlotTable<Stream>()
    private var events: [ClientEvent] = []
    private var nextEvent = 0
    /// How many streams the server allows; before its SETTINGS 100 (RFC 9113, section 6.5.2).
    private(set) var streamLimit = 100
    /// Whether no further stream can be opened.
    private(set) var isClosing = false
    /// How many requests have no event yet.
    private(set) var openCount = 0

    init(limits: ClientLimits) {
        self.limits = limits
    }

    /// The stream's number.
    func id(of slot: StreamSlot) -> Int32 { slots[slot].id }

    // MARK: Requests

    /// Takes a place for a request, if one more is allowed.
    mutating func begin(id: Int32, body: [UInt8]) throws(HTTP2Error) -> StreamSlot {
        guard !isClosing else { throw .noNewStreams }
        guard openCount < streamLimit else { throw .streamLimit }
        let slot = slots.take { Stream() }
        slots[slot].begin(id: id, body: body)
        openCount += 1
        return slot
    }

    /// Gives a place back whose request could not be submitted.
    mutating func takeBack(_ slot: StreamSlot) {
        openCount -= 1
        slots.release(slot)
    }

    /// No further streams.
    mutating func close() {
        isClosing = true
    }

    /// Fails every request without an event; `wasSent` tells whether a stream had left the session.
    mutating func abandon(_ wasSent: (Int32) -> Bool) {
        isClosing = true
        for slot in slots.indices where !slots[slot].isSettled {
            slots[slot].isSettled = true
            openCount -= 1
            events.append(.failure(slot, wasSent(slots[slot].id) ? .connectionLost : .notProcessed(.cancel)))
        }
    }

    // MARK: What the callbacks report

    /// A field of a response.
    mutating func header(
        _ slot: StreamSlot, _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>,
        isPseudo: Bool
    ) {
        unsafe slots[slot].header(name, value, isPseudo: isPseudo, limit: limits.headerListBytes)
    }

    /// A piece of a response's body; what is over the limit is dropped.
    mutating func data(_ slot: StreamSlot, _ bytes: UnsafeBufferPointer<UInt8>) {
        let room = limits.bodyBytes - slots[slot].responseBody.count
        unsafe slots[slot].responseBody.append(contentsOf: bytes.prefix(room))
    }

    /// The response is whole.
    mutating func responseEnded(_ slot: StreamSlot) {
        slots[slot].isComplete = slots[slot].status >= 200
    }

    /// The request never left the session; its stream is closed next.
    mutating func notSent(_ slot: StreamSlot) {
        slots[slot].wasNotSent = true
    }

    /// The stream is over: the request has its event.
    mutating func closed(_ slot: StreamSlot, _ code: ErrorCode) {
        guard !slots[slot].isSettled else { return }
        openCount -= 1
        events.append(slots[slot].close(slot, code))
    }

    /// The next piece of a request's body for a DATA frame.
    mutating func readBody(
        _ slot: StreamSlot, into buffer: UnsafeMutableRawBufferPointer
    ) -> (count: Int, isEnd: Bool) {
        unsafe slots[slot].read(into: buffer)
    }

    /// SETTINGS came.
    mutating func limitChanged(to limit: Int) {
        streamLimit = limit
        events.append(.streamLimit(limit))
    }

    /// GOAWAY came.
    mutating func wentAway(_ goAway: GoAway) {
        isClosing = true
        events.append(.goAway(goAway))
    }

    /// The answer to a PING came.
    mutating func ponged(_ value: UInt64) {
        events.append(.pingAcknowledged(value))
    }

    // MARK: Events

    /// The next event; `handled` is the one before, whose slot is free now.
    ///
    /// The event is moved out of the queue, so that a slot used again finds its buffers unshared.
    mutating func takeEvent(after handled: StreamSlot?) -> ClientEvent? {
        if let handled { slots.release(handled) }
        guard nextEvent < events.count else {
            events.removeAll(keepingCapacity: true)
            nextEvent = 0
            return nil
        }
        var event = ClientEvent.streamLimit(0)
        swap(&event, &events[nextEvent])
        nextEvent += 1
        return event
    }
}

extension ClientStreams.Stream {
    /// Makes the place ready for a request, keeping the memory of the last one's response.
    fileprivate mutating func begin(id: Int32, body: [UInt8]) {
        self.id = id
        self.body = body
        bodyOffset = 0
        status = 0
        isComplete = false
        isSettled = false
        wasNotSent = false
        fields.removeAll()
        if !responseBody.isEmpty { responseBody.removeAll(keepingCapacity: true) }
    }

    /// The only pseudo-header field of a response is `:status`; an interim response may have come before.
    fileprivate mutating func header(
        _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, isPseudo: Bool, limit: Int
    ) {
        if isPseudo {
            status = unsafe value.reduce(0) { $0 * 10 + Int($1) - 0x30 }
            fields.removeAll()
        } else if fields.listSize + name.count + value.count + 32 <= limit {
            unsafe fields.append(name, value)
        }
    }

    fileprivate mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isEnd: Bool) {
        let count = min(buffer.count, body.count - bodyOffset)
        unsafe body.withUnsafeBytes {
            unsafe buffer.copyMemory(
                from: UnsafeRawBufferPointer(rebasing: $0[bodyOffset..<(bodyOffset + count)]))
        }
        bodyOffset += count
        return (count, bodyOffset == body.count)
    }

    /// What the request came to when its stream closed with `code`.
    fileprivate mutating func close(_ slot: StreamSlot, _ code: ErrorCode) -> ClientEvent {
        body = []
        isSettled = true
        if isComplete {
            return .response(slot, ClientResponse(status: status, fields: fields, body: responseBody))
        }
        return .failure(slot, wasNotSent || code == .refusedStream ? .notProcessed(code) : .reset(code))
    }
}
