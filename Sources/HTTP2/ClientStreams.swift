/// The requests of a client session: their partial responses and the pending events.
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
    /// The server's stream limit; 100 until its SETTINGS arrive (RFC 9113, section 6.5.2).
    private(set) var streamLimit = 100
    /// Whether no more streams can be opened.
    private(set) var isClosing = false
    /// The number of requests that have had no event yet.
    private(set) var openCount = 0

    init(limits: ClientLimits) {
        self.limits = limits
    }

    func id(of slot: StreamSlot) -> Int32 { slots[slot].id }

    // MARK: Requests

    /// Takes a slot for a request if the limit allows it.
    mutating func begin(id: Int32, body: [UInt8]) throws(HTTP2Error) -> StreamSlot {
        guard !isClosing else { throw .noNewStreams }
        guard openCount < streamLimit else { throw .streamLimit }
        let slot = slots.take { Stream() }
        slots[slot].begin(id: id, body: body)
        openCount += 1
        return slot
    }

    /// Frees the slot of a request that could not be submitted.
    mutating func takeBack(_ slot: StreamSlot) {
        openCount -= 1
        slots.release(slot)
    }

    /// Forbids new streams.
    mutating func close() {
        isClosing = true
    }

    /// The response so far; `nil` until its status has arrived.
    func partialResponse(_ slot: StreamSlot) -> ClientResponse? {
        let stream = slots[slot]
        guard stream.status >= 200 else { return nil }
        return ClientResponse(status: stream.status, fields: stream.fields, body: stream.responseBody)
    }

    /// Fails all requests that have had no event yet; `wasSent` returns whether the request on a stream was sent.
    mutating func abandon(_ wasSent: (Int32) -> Bool) {
        isClosing = true
        for slot in slots.indices where !slots[slot].isSettled {
            slots[slot].isSettled = true
            openCount -= 1
            events.append(.failure(slot, wasSent(slots[slot].id) ? .connectionLost : .notProcessed(.cancel)))
        }
    }

    // MARK: Callback reports

    /// Adds a field to a response.
    mutating func header(
        _ slot: StreamSlot, _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>,
        isPseudo: Bool
    ) {
        unsafe slots[slot].header(name, value, isPseudo: isPseudo, limit: limits.headerListBytes)
    }

    /// Appends to a response's body; returns false if it exceeds the limit, which completes the response.
    mutating func data(_ slot: StreamSlot, _ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let room = limits.bodyBytes - slots[slot].responseBody.count
        unsafe slots[slot].responseBody.append(contentsOf: bytes.prefix(room))
        guard bytes.count > room else { return true }
        responseEnded(slot)
        return false
    }

    /// Completes the response.
    mutating func responseEnded(_ slot: StreamSlot) {
        slots[slot].isComplete = slots[slot].status >= 200
    }

    /// Marks a request as never sent; its stream is closed next.
    mutating func notSent(_ slot: StreamSlot) {
        slots[slot].wasNotSent = true
    }

    /// Ends a stream: the request gets its event.
    mutating func closed(_ slot: StreamSlot, _ code: ErrorCode) {
        guard !slots[slot].isSettled else { return }
        openCount -= 1
        events.append(slots[slot].close(slot, code))
    }

    /// Reads the next piece of a request's body for a DATA frame.
    mutating func readBody(
        _ slot: StreamSlot, into buffer: UnsafeMutableRawBufferPointer
    ) -> (count: Int, isEnd: Bool) {
        unsafe slots[slot].read(into: buffer)
    }

    /// Records the server's stream limit.
    mutating func limitChanged(to limit: Int) {
        streamLimit = limit
        events.append(.streamLimit(limit))
    }

    mutating func wentAway(_ goAway: GoAway) {
        isClosing = true
        events.append(.goAway(goAway))
    }

    /// Records a PING acknowledgement.
    mutating func ponged(_ value: UInt64) {
        events.append(.pingAcknowledged(value))
    }

    // MARK: Events

    /// The next event; `handled` is the slot of the previous one, which is now freed.
    ///
    /// Moves the event out of the queue, so that a slot's buffers aren't shared when it is reused.
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
    /// Prepares the slot for a request, reusing the memory of the last response.
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

    /// The only pseudo-header field of a response is `:status`; interim responses may come first.
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

    /// The event for a request whose stream closed with `code`.
    fileprivate mutating func close(_ slot: StreamSlot, _ code: ErrorCode) -> ClientEvent {
        body = []
        isSettled = true
        if isComplete {
            return .response(slot, ClientResponse(status: status, fields: fields, body: responseBody))
        }
        return .failure(slot, wasNotSent || code == .refusedStream ? .notProcessed(code) : .reset(code))
    }
}
