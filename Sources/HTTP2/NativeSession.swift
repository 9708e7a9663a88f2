import CNghttp2

/// The sole owner of an `nghttp2_session`, used by both roles.
@safe struct NativeSession: ~Copyable {
    let pointer: OpaquePointer
    /// The allocator for the session's frames; outlives the session.
    private let memory: FrameMemory

    init(pointer: OpaquePointer, memory: FrameMemory) {
        unsafe self.pointer = unsafe pointer
        self.memory = memory
    }

    deinit {
        unsafe nghttp2_session_del(pointer)
    }

    enum Role {
        case client
        case server
    }

    /// Creates a session; `options` and `callbacks` configure the library's objects.
    static func make(
        role: Role, options: (OpaquePointer) -> Void, callbacks: (OpaquePointer) -> Void
    ) throws(HTTP2Error) -> NativeSession {
        var option: OpaquePointer? = nil
        var callbackSet: OpaquePointer? = nil
        var session: OpaquePointer? = nil
        defer {
            unsafe nghttp2_option_del(option)
            unsafe nghttp2_session_callbacks_del(callbackSet)
        }
        try check(unsafe nghttp2_option_new(&option))
        try check(unsafe nghttp2_session_callbacks_new(&callbackSet))
        guard let option = unsafe option, let callbackSet = unsafe callbackSet else { throw .outOfMemory }
        unsafe options(option)
        unsafe callbacks(callbackSet)
        let memory = FrameMemory()
        var functions = unsafe memory.functions
        switch role {
        case .client:
            try check(unsafe nghttp2_session_client_new3(&session, callbackSet, nil, option, &functions))
        case .server:
            try check(unsafe nghttp2_session_server_new3(&session, callbackSet, nil, option, &functions))
        }
        guard let session = unsafe session else { throw .outOfMemory }
        return unsafe NativeSession(pointer: session, memory: memory)
    }

    /// Sets the context passed to callbacks.
    func setUserData(_ context: UnsafeMutableRawPointer) {
        unsafe nghttp2_session_set_user_data(pointer, context)
    }

    /// Whether the session no longer reads or writes: close the connection.
    var isFinished: Bool {
        unsafe nghttp2_session_want_read(pointer) == 0 && nghttp2_session_want_write(pointer) == 0
    }

    /// Whether `collectOutput` has output.
    var wantsWrite: Bool {
        unsafe nghttp2_session_want_write(pointer) != 0
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error) {
        let input = unsafe bytes.bindMemory(to: UInt8.self)
        let consumed = unsafe nghttp2_session_mem_recv(pointer, input.baseAddress, input.count)
        guard consumed == input.count else { throw Self.failure(Int32(consumed)) }
    }

    /// Appends frames to `output` until it has at least `target` bytes or nothing is left to send.
    func collectOutput(into output: inout [UInt8], target: Int) throws(HTTP2Error) {
        while output.count < target {
            var bytes: UnsafePointer<UInt8>? = nil
            let count = unsafe nghttp2_session_mem_send(pointer, &bytes)
            guard count >= 0 else { throw Self.failure(Int32(count)) }
            guard count > 0 else { return }
            unsafe output.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
        }
    }

    /// The slot stored as a stream's user data.
    func slot(of stream: Int32) -> Int? {
        guard let data = unsafe nghttp2_session_get_stream_user_data(pointer, stream) else { return nil }
        return Int(bitPattern: data) - 1
    }

    func setSlot(_ slot: Int, of stream: Int32) {
        _ = unsafe nghttp2_session_set_stream_user_data(pointer, stream, Self.userData(slot: slot))
    }

    /// Encodes a slot as a stream's user data; never null.
    static func userData(slot: Int) -> UnsafeMutableRawPointer? {
        unsafe UnsafeMutableRawPointer(bitPattern: slot + 1)
    }

    func submitSettings(_ entries: [(id: nghttp2_settings_id, value: UInt32)]) throws(HTTP2Error) {
        let list = entries.map {
            nghttp2_settings_entry(settings_id: Int32(bitPattern: $0.id.rawValue), value: $0.value)
        }
        try Self.check(
            unsafe nghttp2_submit_settings(pointer, UInt8(NGHTTP2_FLAG_NONE.rawValue), list, list.count))
    }

    func submitPing(_ value: UInt64) throws(HTTP2Error) {
        let opaque = unsafe withUnsafeBytes(of: value.bigEndian) { unsafe [UInt8]($0) }
        try Self.check(unsafe nghttp2_submit_ping(pointer, UInt8(NGHTTP2_FLAG_NONE.rawValue), opaque))
    }

    /// The stream identifier of the next request.
    var nextStreamID: Int32 {
        Int32(bitPattern: unsafe nghttp2_session_get_next_stream_id(pointer))
    }

    /// Queues a request; the role's callback supplies its body.
    func submitRequest(
        _ fields: HeaderFields, body: nghttp2_data_provider?, slot: Int
    ) throws(HTTP2Error) -> Int32 {
        let stream = unsafe fields.withNameValues { table, count in
            let data = unsafe Self.userData(slot: slot)
            guard var body = unsafe body else {
                return unsafe nghttp2_submit_request(pointer, nil, table, count, nil, data)
            }
            return unsafe nghttp2_submit_request(pointer, nil, table, count, &body, data)
        }
        try Self.check(stream)
        return stream
    }

    /// Whether a stream is open; the stream of a queued request isn't open yet.
    func hasStream(_ stream: Int32) -> Bool {
        unsafe nghttp2_session_find_stream(pointer, stream) != nil
    }

    /// The peer's latest value for a setting.
    func remoteSetting(_ id: nghttp2_settings_id) -> UInt32 {
        unsafe nghttp2_session_get_remote_settings(pointer, id)
    }

    /// Queues a response; the role's callback supplies its body.
    ///
    /// False if the stream is closed.
    func submitResponse(_ stream: Int32, _ fields: HeaderFields, body: nghttp2_data_provider?) -> Bool {
        unsafe fields.withNameValues { table, count in
            guard var body = unsafe body else {
                return unsafe nghttp2_submit_response(pointer, stream, table, count, nil) == 0
            }
            return unsafe nghttp2_submit_response(pointer, stream, table, count, &body) == 0
        }
    }

    func submitShutdownNotice() throws(HTTP2Error) {
        try Self.check(unsafe nghttp2_submit_shutdown_notice(pointer))
    }

    /// The highest stream identifier passed to a callback.
    var lastProcessedStreamID: Int32 {
        unsafe nghttp2_session_get_last_proc_stream_id(pointer)
    }

    func submitReset(_ stream: Int32, _ code: ErrorCode) throws(HTTP2Error) {
        let flags = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        try Self.check(unsafe nghttp2_submit_rst_stream(pointer, flags, stream, code.rawValue))
    }

    func submitGoAway(_ goAway: GoAway) throws(HTTP2Error) {
        let flags = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        try Self.check(
            unsafe nghttp2_submit_goaway(
                pointer, flags, goAway.lastStreamID, goAway.code.rawValue, goAway.debugData,
                goAway.debugData.count))
    }

    /// Sends GOAWAY and ends the session once it is sent; open streams are dropped.
    func terminate(_ code: ErrorCode) throws(HTTP2Error) {
        try Self.check(unsafe nghttp2_session_terminate_session(pointer, code.rawValue))
    }

    /// Sets the connection's receive window in bytes.
    func setConnectionWindow(_ bytes: Int32) throws(HTTP2Error) {
        let flags = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        try Self.check(unsafe nghttp2_session_set_local_window_size(pointer, flags, 0, bytes))
    }

    static func check(_ code: Int32) throws(HTTP2Error) {
        guard code < 0 else { return }
        throw failure(code)
    }

    static func failure(_ code: Int32) -> HTTP2Error {
        switch code {
        case NGHTTP2_ERR_NOMEM.rawValue: .outOfMemory
        case NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE.rawValue, NGHTTP2_ERR_START_STREAM_NOT_ALLOWED.rawValue:
            .noNewStreams
        case NGHTTP2_ERR_INVALID_ARGUMENT.rawValue: .invalidHeader
        default: .sessionFailed(unsafe String(cString: nghttp2_strerror(code)))
        }
    }
}

extension NativeSession {
    /// The payload of a PING frame as the number passed to `submitPing`.
    static func pingValue(_ frame: UnsafePointer<nghttp2_frame>) -> UInt64 {
        // Doesn't read through the address of a variable: Swift 6.3 may drop the store to it (docs/design/compiler.md).
        unsafe withUnsafeBytes(of: frame.pointee.ping.opaque_data) {
            unsafe UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self))
        }
    }

    /// The library's description of the peer's mistake in a GOAWAY that the library sends.
    static func diagnosis(_ frame: UnsafePointer<nghttp2_frame>) -> String? {
        let goAway = unsafe goAway(frame, debugDataLimit: 200)
        guard goAway.code != .noError else { return nil }
        return goAway.debugData.isEmpty
            ? goAway.code.description : String(decoding: goAway.debugData, as: UTF8.self)
    }

    /// Converts a GOAWAY frame; keeps at most `debugDataLimit` bytes of its debug data.
    static func goAway(_ frame: UnsafePointer<nghttp2_frame>, debugDataLimit: Int) -> GoAway {
        let raw = unsafe frame.pointee.goaway
        let debugData = unsafe UnsafeBufferPointer(start: raw.opaque_data, count: raw.opaque_data_len)
        return unsafe GoAway(
            lastStreamID: raw.last_stream_id, code: ErrorCode(rawValue: raw.error_code),
            debugData: [UInt8](debugData.prefix(debugDataLimit)))
    }
}

/// The frame types (RFC 9113, section 6) that the sessions use.
enum FrameType {
    static let data: UInt8 = 0
    static let headers: UInt8 = 1
    static let settings: UInt8 = 4
    static let ping: UInt8 = 6
    static let goAway: UInt8 = 7
}

/// The frame flags (RFC 9113, section 6) that the sessions use.
enum FrameFlag {
    static let endStream: UInt8 = 0x1
    static let acknowledgement: UInt8 = 0x1
}
