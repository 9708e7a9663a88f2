import CNghttp2

/// The callbacks' C functions are formed here, in nonisolated functions, and do nothing but find the session.
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

    /// Runs a callback on the session that `context` is; every callback reports success to the library.
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
        guard let frame = unsafe frame, let slot = native.slot(of: unsafe frame.pointee.hd.stream_id) else {
            return
        }
        guard unsafe name.first != UInt8(ascii: ":") else {
            // The only pseudo-header field of a response is `:status`; an interim response came before or comes now.
            streams[slot].status = unsafe value.reduce(0) { $0 * 10 + Int($1) - 0x30 }
            streams[slot].fields.truncate(to: 0)
            return
        }
        for kept in limits.keptFields where unsafe kept.matches(name) {
            let size = streams[slot].fields.listSize + name.count + value.count + 32
            if size <= limits.headerListBytes { unsafe streams[slot].fields.append(name, value) }
            return
        }
    }

    private func data(_ stream: Int32, _ bytes: UnsafeBufferPointer<UInt8>) {
        guard let slot = native.slot(of: stream) else { return }
        let room = limits.bodyBytes - streams[slot].responseBody.count
        unsafe streams[slot].responseBody.append(contentsOf: bytes.prefix(room))
    }

    private func frameReceived(_ frame: UnsafePointer<nghttp2_frame>?) {
        guard let frame = unsafe frame else { return }
        let head = unsafe frame.pointee.hd
        switch head.type {
        case FrameType.headers, FrameType.data:
            guard head.flags & FrameFlag.endStream != 0, let slot = native.slot(of: head.stream_id) else {
                return
            }
            streams[slot].isComplete = streams[slot].status >= 200
        case FrameType.settings where head.flags & FrameFlag.acknowledgement == 0:
            streamLimit = Int(native.remoteSetting(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
            events.append(.streamLimit(streamLimit))
        case FrameType.ping where head.flags & FrameFlag.acknowledgement != 0:
            events.append(.pingAcknowledged(unsafe NativeSession.pingValue(frame)))
        case FrameType.goAway:
            isClosing = true
            events.append(.goAway(unsafe NativeSession.goAway(frame, debugDataLimit: limits.debugDataBytes)))
        default:
            break
        }
    }

    /// A request that waited in the session while GOAWAY came or while it was cancelled; its stream is closed next.
    private func frameNotSent(_ frame: UnsafePointer<nghttp2_frame>?) {
        guard let head = unsafe frame?.pointee.hd, head.type == FrameType.headers,
            let slot = native.slot(of: head.stream_id)
        else { return }
        streams[slot].wasNotSent = true
    }

    private func streamClosed(_ stream: Int32, _ code: ErrorCode) {
        guard let slot = native.slot(of: stream), !streams[slot].isSettled else { return }
        streams[slot].body = []
        if streams[slot].isComplete {
            let response = ClientResponse(
                status: streams[slot].status, fields: streams[slot].fields, body: streams[slot].responseBody)
            settle(slot, .response(slot, response))
        } else if streams[slot].wasNotSent || code == .refusedStream {
            settle(slot, .failure(slot, .notProcessed(code)))
        } else {
            settle(slot, .failure(slot, .reset(code)))
        }
    }

    /// Reads a request's body out of its slot while frames are collected.
    static func bodySource(slot: Int) -> nghttp2_data_provider {
        unsafe nghttp2_data_provider(source: nghttp2_data_source(fd: Int32(slot))) {
            _, _, buffer, count, flags, source, context in
            guard let context = unsafe context, let slot = unsafe source?.pointee.fd else {
                return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
            }
            return unsafe Unmanaged<ClientSession>.fromOpaque(context)._withUnsafeGuaranteedRef {
                let target = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: count)
                let piece = unsafe $0.readBody(slot: Int(slot), into: target)
                if piece.isEnd { unsafe flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
                return piece.count
            }
        }
    }

    /// Copies the next piece of a request's body into a DATA frame.
    private func readBody(slot: Int, into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isEnd: Bool)
    {
        let offset = streams[slot].bodyOffset
        let count = min(buffer.count, streams[slot].body.count - offset)
        unsafe streams[slot].body.withUnsafeBytes {
            unsafe buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<(offset + count)]))
        }
        streams[slot].bodyOffset = offset + count
        return (count, offset + count == streams[slot].body.count)
    }
}

extension StaticString {
    /// Whether the bytes are this text.
    fileprivate func matches(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard utf8CodeUnitCount == bytes.count else { return false }
        return unsafe UnsafeBufferPointer(start: utf8Start, count: utf8CodeUnitCount).elementsEqual(bytes)
    }
}
