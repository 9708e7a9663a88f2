import CNghttp2

/// The client's side of one HTTP/2 connection without any I/O: requests and bytes go in, bytes and events come out.
///
/// Confined to one thread. After every `receive`, `collectOutput` and `abandon` the owner drains the events; the calls
/// that submit something may be made at any time, also while draining. Queueing is the owner's: `submit` refuses
/// what the peer's stream limit doesn't allow.
package final class ClientSession {
    let native: NativeSession
    let keptFields: [StaticString]
    /// What the callbacks change.
    var streams: ClientStreams
    private var isDraining = false

    /// The library's own words on what the peer did wrong last; for logs.
    package internal(set) var diagnostic: String?
    /// What the peer did that made the library end the session, in its words.
    package internal(set) var peerFault: String?

    /// Begins a connection; the preface and our SETTINGS are the first output.
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

    /// How many requests wait for their response.
    package var openStreamCount: Int { streams.openCount }

    /// How many streams the server allows to be open at once; before its SETTINGS 100 (RFC 9113, section 6.5.2).
    package var streamLimit: Int { streams.streamLimit }

    /// Whether GOAWAY came or the session was ended: no further stream can be opened.
    package var isClosing: Bool { streams.isClosing }

    /// Whether `submit` would take a request now.
    package var canSubmit: Bool { !isClosing && openStreamCount < streamLimit }

    /// Whether nothing is read or written any more: close the connection once the output is out.
    package var isFinished: Bool { native.isFinished }

    /// Whether `collectOutput` has something to give.
    package var wantsWrite: Bool { native.wantsWrite }

    /// Takes what came from the server.
    ///
    /// After an error the connection is of no use any more: `abandon` it.
    package func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error) {
        try unsafe native.receive(bytes)
    }

    /// Appends frames to `output` until it holds `target` bytes or more, or nothing is left to send.
    package func collectOutput(into output: inout [UInt8], target: Int) throws(HTTP2Error) {
        try native.collectOutput(into: &output, target: target)
    }

    /// Sends a request whose fields begin with the four pseudo-header fields, and a body that may be empty.
    ///
    /// One event, `response` or `failure`, follows for the slot, whatever becomes of the connection.
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

    /// Gives a request up with RST_STREAM; its event is `failure` with `code`, unless its response was faster.
    package func cancel(_ slot: StreamSlot, _ code: ErrorCode = .cancel) throws(HTTP2Error) {
        try native.submitReset(streams.id(of: slot), code)
    }

    /// Measures the way to the server and back; `pingAcknowledged` comes with the same value.
    package func ping(_ value: UInt64) throws(HTTP2Error) {
        try native.submitPing(value)
    }

    /// Sends GOAWAY: no further streams from here; those that are open are still answered.
    package func goAway(_ code: ErrorCode = .noError) throws(HTTP2Error) {
        streams.close()
        try native.submitGoAway(GoAway(lastStreamID: 0, code: code))
    }

    /// Says that the connection is gone: every request without an event fails.
    ///
    /// What never left the session is `notProcessed`, everything else `connectionLost`.
    package func abandon() {
        streams.abandon { native.hasStream($0) }
    }

    /// Hands over what happened since the last call, in order, what the handler itself brings about included.
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
