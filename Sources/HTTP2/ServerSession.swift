import CNghttp2

/// The server side of one HTTP/2 connection without I/O: bytes in, bytes and events out.
///
/// Confined to one thread. The owner drains the events after every `receive` and `collectOutput`; it may submit at any
/// time, even while draining.
package final class ServerSession {
    struct Stream {
        var fields = HeaderFields()
        var body: [UInt8] = []
        var stage = Stage.headers
        var isRequestEnded = false
        var isAnswered = false
        var response: [UInt8] = []
        var responseOffset = 0
    }

    enum Stage {
        /// Receiving header fields.
        case headers
        /// Receiving header fields that exceed the limit.
        case headersTooLarge
        /// The header is complete; receiving the body and perhaps trailers.
        case body
        /// The owner has the request; the rest is dropped.
        case delivered
    }

    let limits: ServerLimits
    let native: NativeSession
    // The state that callbacks change.
    var streams = SlotTable<Stream>()
    var events: [ServerEvent] = []
    /// The number of open streams that were answered before their request ended.
    var earlyAnswers = 0

    /// Whether the owner has sent GOAWAY.
    var hasLeft = false

    /// The library's message about the peer's last mistake, for logs.
    package internal(set) var diagnostic: String?
    /// The peer's error that made the library end the session, in the library's words.
    package internal(set) var peerFault: String?

    /// Starts a session; SETTINGS are its first output.
    package init(limits: ServerLimits = ServerLimits()) throws(HTTP2Error) {
        self.limits = limits
        native = try Self.makeNative(limits)
        unsafe native.setUserData(Unmanaged.passUnretained(self).toOpaque())
        try native.submitSettings([
            (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.concurrentStreams),
            (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, UInt32(limits.headerListBytes)),
            (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits.streamWindowBytes),
        ])
        try native.setConnectionWindow(limits.connectionWindowBytes)
    }

    /// The number of open streams: requests being received, waiting for a response, or with an unsent response.
    package var openStreamCount: Int { streams.count }

    /// Whether the session no longer reads or writes: close the connection once its output has been sent.
    package var isFinished: Bool { native.isFinished }

    /// Whether `collectOutput` has output.
    package var wantsWrite: Bool { native.wantsWrite }

    /// Processes bytes from the client.
    ///
    /// After an error, the session is unusable.
    package func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error) {
        try unsafe native.receive(bytes)
    }

    /// Appends frames to `output` until it has at least `target` bytes or nothing is left to send.
    package func collectOutput(into output: inout [UInt8], target: Int) throws(HTTP2Error) {
        try native.collectOutput(into: &output, target: target)
    }

    /// Passes the events since the last call, in order, to `handle`.
    package func drainEvents(_ handle: (ServerEvent) -> Void) {
        while !events.isEmpty {
            var batch: [ServerEvent] = []
            swap(&batch, &events)
            for event in batch { handle(event) }
            guard events.isEmpty else { continue }
            batch.removeAll(keepingCapacity: true)
            swap(&batch, &events)
        }
    }

    /// Answers a request with fields that begin with `:status`; the body may be empty.
    ///
    /// False if the stream is closed or already answered. A stream whose request has not ended is closed with NO_ERROR
    /// after the response (RFC 9113, section 8.1).
    @discardableResult
    package func respond(to stream: StreamID, _ fields: HeaderFields, body: [UInt8] = []) -> Bool {
        guard let slot = native.slot(of: stream.rawValue), !streams[slot].isAnswered else { return false }
        streams[slot].response = body
        streams[slot].responseOffset = 0
        let source = unsafe body.isEmpty ? nil : Self.bodySource(slot: slot)
        guard unsafe native.submitResponse(stream.rawValue, fields, body: source) else { return false }
        streams[slot].isAnswered = true
        if !streams[slot].isRequestEnded { earlyAnswers += 1 }
        return true
    }

    /// Resets a stream with RST_STREAM; REFUSED_STREAM tells the client that the request was not processed.
    package func reset(_ stream: StreamID, _ code: ErrorCode) throws(HTTP2Error) {
        try native.submitReset(stream.rawValue, code)
    }

    /// Changes SETTINGS_MAX_CONCURRENT_STREAMS; the new value applies once `settingsAcknowledged` follows.
    package func setMaxConcurrentStreams(_ count: UInt32) throws(HTTP2Error) {
        try native.submitSettings([(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, count)])
    }

    /// Sends a PING; `pingAcknowledged` follows with the same value.
    package func ping(_ value: UInt64) throws(HTTP2Error) {
        try native.submitPing(value)
    }

    /// Announces a shutdown with a GOAWAY that refuses nothing yet; call `goAway` about a round trip later.
    package func announceShutdown() throws(HTTP2Error) {
        try native.submitShutdownNotice()
    }

    /// Sends GOAWAY: serves streams up to `lastStreamID` (default: the newest received) and ignores later ones.
    package func goAway(
        _ code: ErrorCode, lastStreamID: StreamID? = nil, debugData: [UInt8] = []
    ) throws(HTTP2Error) {
        hasLeft = true
        let last = lastStreamID?.rawValue ?? native.lastProcessedStreamID
        try native.submitGoAway(GoAway(lastStreamID: last, code: code, debugData: debugData))
    }

    /// Sends GOAWAY with `code` and drops all open streams; `isFinished` is true once it is sent.
    package func terminate(_ code: ErrorCode) throws(HTTP2Error) {
        hasLeft = true
        try native.terminate(code)
    }
}
