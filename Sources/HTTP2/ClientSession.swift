import CNghttp2

/// The client side of one HTTP/2 connection without I/O: requests and bytes in, bytes and events out.
///
/// Confined to one thread. The owner drains the events after every `receive`, `collectOutput` and `abandon`; it may
/// submit at any time, even while draining. `submit` refuses requests beyond the peer's stream limit; queueing is up to
/// the owner.
///
/// In the example, `exchange` stands for the connection: it writes the output and returns the bytes that the server
/// sends.
///
/// ```swift
/// let session = try ClientSession()
/// var fields = HeaderFields()
/// fields.append(":method", "GET")
/// fields.append(":scheme", "https")
/// fields.append(":authority", "example.com")
/// fields.append(":path", "/")
/// let slot = try session.submit(fields, body: [])
///
/// var output: [UInt8] = []
/// try session.collectOutput(into: &output, target: 16_384)
/// let input = try exchange(output)
/// try input.withUnsafeBytes { try session.receive($0) }
/// var status: Int?
/// session.drainEvents { event in
///     switch event {
///     case .response(slot, let response): status = response.status
///     case .failure(slot, let failure): print("no response: \(failure)")
///     default: break
///     }
/// }
/// ```
package final class ClientSession {
    let native: NativeSession
    let keptFields: [StaticString]
    /// The state that callbacks change.
    var streams: ClientStreams
    private var isDraining = false

    /// The library's message about the peer's last mistake, for logs.
    package internal(set) var diagnostic: String?
    /// The peer's error that made the library end the session, in the library's words.
    package internal(set) var peerFault: String?

    /// Starts a session; the preface and SETTINGS are its first output.
    package init(limits: ClientLimits = ClientLimits()) throws(HTTP2Error) {
        streams = ClientStreams(limits: limits)
        keptFields = limits.keptFields
        native = try Self.makeNative()
        unsafe native.setUserData(Unmanaged.passUnretained(self).toOpaque())
        try native.submitSettings([
            (NGHTTP2_SETTINGS_ENABLE_PUSH, 0),
            (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, UInt32(limits.headerListBytes)),
        ])
        try native.setConnectionWindow(limits.connectionWindowBytes)
    }

    /// The number of requests waiting for a response.
    package var openStreamCount: Int { streams.openCount }

    /// The server's stream limit; 100 until its SETTINGS arrive (RFC 9113, section 6.5.2).
    package var streamLimit: Int { streams.streamLimit }

    /// Whether GOAWAY was received or the session ended, so that no stream can be opened.
    package var isClosing: Bool { streams.isClosing }

    /// Whether `submit` would accept a request now.
    package var canSubmit: Bool { !isClosing && openStreamCount < streamLimit }

    /// Whether the session no longer reads or writes: close the connection once its output has been sent.
    package var isFinished: Bool { native.isFinished }

    /// Whether `collectOutput` has output.
    package var wantsWrite: Bool { native.wantsWrite }

    /// Processes bytes from the server.
    ///
    /// After an error, the session is unusable: `abandon` it.
    package func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error) {
        try unsafe native.receive(bytes)
    }

    /// Appends frames to `output` until it has at least `target` bytes or nothing is left to send.
    package func collectOutput(into output: inout [UInt8], target: Int) throws(HTTP2Error) {
        try native.collectOutput(into: &output, target: target)
    }

    /// Submits a request whose fields begin with the four pseudo-header fields; the body may be empty.
    ///
    /// Exactly one event follows for the slot, `response` or `failure`.
    package func submit(_ fields: HeaderFields, body: [UInt8]) throws(HTTP2Error) -> StreamSlot {
        let slot = try streams.begin(id: native.nextStreamID, body: body)
        let source = unsafe body.isEmpty ? nil : Self.bodySource(slot: slot)
        do {
            _ = try unsafe native.submitRequest(fields, body: source, slot: slot)
        } catch {
            streams.takeBack(slot)
            if error == .noNewStreams { streams.close() }
            throw error
        }
        return slot
    }

    /// Cancels a request with RST_STREAM; its event is `failure` with `code`, unless the response arrived first.
    package func cancel(_ slot: StreamSlot, _ code: ErrorCode = .cancel) throws(HTTP2Error) {
        try native.submitReset(streams.id(of: slot), code)
    }

    /// Sends a PING; `pingAcknowledged` follows with the same value.
    package func ping(_ value: UInt64) throws(HTTP2Error) {
        try native.submitPing(value)
    }

    /// Sends GOAWAY: this side submits no more requests; open ones are still answered.
    package func goAway(_ code: ErrorCode = .noError) throws(HTTP2Error) {
        streams.close()
        try native.submitGoAway(GoAway(lastStreamID: 0, code: code))
    }

    /// Tells the session that the connection is lost: every request that has had no event yet fails.
    ///
    /// Requests that were never sent fail as `notProcessed`, others as `connectionLost`.
    package func abandon() {
        streams.abandon { native.hasStream($0) }
    }

    /// Passes the events since the last call, including those that the handler causes, to `handle` in order.
    package func drainEvents(_ handle: (ClientEvent) -> Void) {
        guard !isDraining else { return }
        isDraining = true
        defer { isDraining = false }
        var handled: StreamSlot?
        while let event = streams.takeEvent(after: handled) {
            handled = event.slot
            handle(event)
        }
    }
}
