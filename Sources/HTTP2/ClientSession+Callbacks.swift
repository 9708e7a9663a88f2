import CNghttp2

/// nghttp2's callbacks, created in nonisolated functions; they only look up the session and forward to it.
extension ClientSession {
    static func makeNative() throws(HTTP2Error) -> NativeSession {
        try unsafe NativeSession.make(
            role: .client,
            options: { option in unsafe nghttp2_option_set_max_reserved_remote_streams(option, 0) },
            callbacks: { set in unsafe install(in: set) })
    }

    private static func install(in set: OpaquePointer) {
        unsafe nghttp2_session_callbacks_set_on_header_callback(set) {
            _, frame, name, nameCount, value, valueCount, _, context in
            unsafe ClientSession.with(context) {
                unsafe $0.header(
                    frame, UnsafeBufferPointer(start: name, count: nameCount),
                    UnsafeBufferPointer(start: value, count: valueCount))
            }
        }
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(set) {
            _, _, stream, data, count, context in
            unsafe ClientSession.with(context) {
                unsafe $0.data(stream, UnsafeBufferPointer(start: data, count: count))
            }
        }
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(set) { _, frame, context in
            unsafe ClientSession.with(context) { unsafe $0.frameReceived(frame) }
        }
        unsafe nghttp2_session_callbacks_set_on_frame_send_callback(set) { _, frame, context in
            guard let frame = unsafe frame, unsafe frame.pointee.hd.type == FrameType.goAway else { return 0 }
            return unsafe ClientSession.with(context) {
                $0.peerFault = unsafe NativeSession.diagnosis(frame) ?? $0.peerFault
            }
        }
        unsafe nghttp2_session_callbacks_set_on_frame_not_send_callback(set) { _, frame, _, context in
            unsafe ClientSession.with(context) { unsafe $0.frameNotSent(frame) }
        }
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(set) { _, stream, code, context in
            unsafe ClientSession.with(context) { $0.streamClosed(stream, ErrorCode(rawValue: code)) }
        }
        unsafe nghttp2_session_callbacks_set_error_callback2(set) { _, _, message, count, context in
            unsafe ClientSession.with(context) { unsafe $0.note(message, count) }
        }
    }

    /// Runs a callback on the session in `context` and reports success to the library.
    private static func with(_ context: UnsafeMutableRawPointer?, _ body: (ClientSession) -> Void) -> Int32 {
        guard let context = unsafe context else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
        unsafe Unmanaged<ClientSession>.fromOpaque(context)._withUnsafeGuaranteedRef(body)
        return 0
    }

    private func note(_ message: UnsafePointer<CChar>?, _ count: Int) {
        let text = unsafe UnsafeRawBufferPointer(start: message, count: count)
        diagnostic = unsafe String(decoding: text, as: UTF8.self)
    }

    private func header(
        _ frame: UnsafePointer<nghttp2_frame>?, _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) {
        guard let frame = unsafe frame else { return }
        let isPseudo = unsafe name.first == UInt8(ascii: ":")
        let isKept = keptFields.contains { unsafe $0.matches(name) }
        guard isPseudo || isKept, let slot = native.slot(of: unsafe frame.pointee.hd.stream_id)
        else { return }
        unsafe streams.header(slot, name, value, isPseudo: isPseudo)
    }

    private func data(_ stream: Int32, _ bytes: UnsafeBufferPointer<UInt8>) {
        guard let slot = native.slot(of: stream) else { return }
        guard unsafe !streams.data(slot, bytes) else { return }
        // The rest of the response would be wasted traffic; if the reset fails for lack of memory, the rest is dropped.
        try? native.submitReset(stream, .cancel)
    }

    private func frameReceived(_ frame: UnsafePointer<nghttp2_frame>?) {
        guard let frame = unsafe frame else { return }
        let head = unsafe frame.pointee.hd
        switch head.type {
        case FrameType.headers, FrameType.data:
            guard head.flags & FrameFlag.endStream != 0, let slot = native.slot(of: head.stream_id) else {
                return
            }
            streams.responseEnded(slot)
        case FrameType.settings where head.flags & FrameFlag.acknowledgement == 0:
            streams.limitChanged(to: Int(native.remoteSetting(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)))
        case FrameType.ping where head.flags & FrameFlag.acknowledgement != 0:
            streams.ponged(unsafe NativeSession.pingValue(frame))
        case FrameType.goAway:
            streams.wentAway(
                unsafe NativeSession.goAway(frame, debugDataLimit: streams.limits.debugDataBytes))
        default:
            break
        }
    }

    /// Handles a queued request dropped by a GOAWAY or a cancellation; its stream is closed next.
    private func frameNotSent(_ frame: UnsafePointer<nghttp2_frame>?) {
        guard let head = unsafe frame?.pointee.hd, head.type == FrameType.headers,
            let slot = native.slot(of: head.stream_id)
        else { return }
        streams.notSent(slot)
    }

    private func streamClosed(_ stream: Int32, _ code: ErrorCode) {
        guard let slot = native.slot(of: stream) else { return }
        streams.closed(slot, code)
    }

    /// Reads a request's body from its slot while frames are collected.
    static func bodySource(slot: Int) -> nghttp2_data_provider {
        unsafe nghttp2_data_provider(source: nghttp2_data_source(fd: Int32(slot))) {
            _, _, buffer, count, flags, source, context in
            guard let context = unsafe context, let slot = unsafe source?.pointee.fd else {
                return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
            }
            return unsafe Unmanaged<ClientSession>.fromOpaque(context)._withUnsafeGuaranteedRef {
                let target = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: count)
                let piece = unsafe $0.streams.readBody(Int(slot), into: target)
                if piece.isEnd { unsafe flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
                return piece.count
            }
        }
    }
}

extension StaticString {
    /// Whether the bytes equal the text.
    fileprivate func matches(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard utf8CodeUnitCount == bytes.count else { return false }
        return unsafe UnsafeBufferPointer(start: utf8Start, count: utf8CodeUnitCount).elementsEqual(bytes)
    }
}
