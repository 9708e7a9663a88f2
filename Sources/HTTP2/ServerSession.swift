import CNghttp2

/// The server's side of one HTTP/2 connection without any I/O: bytes go in, bytes and events come out.
///
/// Confined to one thread. After every `receive` and every `collectOutput` the owner drains the events; the calls
/// that submit something may be made at any time, also while draining.
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
        /// Header fields are coming in.
        case headers
        /// As `headers`, but the list is over its limit.
        case headersTooLarge
        /// The header is complete; the body and perhaps trailers come in.
        case body
        /// The owner has the request; what else comes is thrown away.
        case delivered
    }

    let limits: ServerLimits
    let native: NativeSession
    // What the callbacks change.
    var streams = SlotTable<Stream>()
    var events: [ServerEvent] = []
    /// How many open streams were answered before their request had ended.
    var earlyAnswers = 0

    /// Whether the owner sent GOAWAY itself.
    var hasLeft = false

    /// The library's own words on what the peer did wrong last; for logs.
    package internal(set) var diagnostic: String?
    /// What the peer did that made the library end the session, in its words.
    package internal(set) var peerFault: String?

    /// Begins a connection; its SETTINGS are the first output.
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

    /// How many streams are open: requests coming in, waiting for an answer, or whose answer is not out yet.
    package var openStreamCount: Int { streams.count }

    /// Whether nothing is read or written any more: close the connection once the output is out.
    package var isFinished: Bool { native.isFinished }

    /// Whether `collectOutput` has something to give.
    package var wantsWrite: Bool { native.wantsWrite }

    /// Takes what came from the client.
    ///
    /// After an error the connection is of no use any more.
    package func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error) {
        try unsafe native.receive(bytes)
    }

    /// Appends frames to `output` until it holds `target` bytes or more, or nothing is left to send.
    package func collectOutput(into output: inout [UInt8], target: Int) throws(HTTP2Error) {
        try native.collectOutput(into: &output, target: target)
    }

    /// Hands over what happened since the last call, in order.
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

    /// Answers a request with a header list that begins with `:status`, and a body that may be empty.
    ///
    /// False when the stream is gone or answered already. A stream whose request has not ended is closed with
    /// NO_ERROR after the response (RFC 9113, section 8.1).
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

    /// Ends one stream with RST_STREAM; REFUSED_STREAM tells the client that nothing was done for it.
    package func reset(_ stream: StreamID, _ code: ErrorCode) throws(HTTP2Error) {
        try native.submitReset(stream.rawValue, code)
    }

    /// Changes SETTINGS_MAX_CONCURRENT_STREAMS; it holds once `settingsAcknowledged` has come.
    package func setMaxConcurrentStreams(_ count: UInt32) throws(HTTP2Error) {
        try native.submitSettings([(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, count)])
    }

    /// Measures the way to the client and back; `pingAcknowledged` comes with the same value.
    package func ping(_ value: UInt64) throws(HTTP2Error) {
        try native.submitPing(value)
    }

    /// Announces the end with a GOAWAY that refuses nothing yet; `goAway` has to follow about a round trip later.
    package func announceShutdown() throws(HTTP2Error) {
        try native.submitShutdownNotice()
    }

    /// Sends GOAWAY: streams up to `lastStreamID` (default: the newest one seen) are still served, others ignored.
    package func goAway(
        _ code: ErrorCode, lastStreamID: StreamID? = nil, debugData: [UInt8] = []
    ) throws(HTTP2Error) {
        hasLeft = true
        let last = lastStreamID?.rawValue ?? native.lastProcessedStreamID
        try native.submitGoAway(GoAway(lastStreamID: last, code: code, debugData: debugData))
    }

    /// Sends GOAWAY with `code` and gives up every open stream; `isFinished` holds once it is out.
    package func terminate(_ code: ErrorCode) throws(HTTP2Error) {
        hasLeft = true
        try native.terminate(code)
    }
}
