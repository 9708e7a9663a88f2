import CNghttp2

/// nghttp2's callbacks, created in nonisolated functions; they only look up the session and forward to it.
extension ServerSession {
    static func makeNative(_ limits: ServerLimits) throws(HTTP2Error) -> NativeSession {
        try unsafe NativeSession.make(
            role: .server,
            options: { option in
                unsafe nghttp2_option_set_no_closed_streams(option, 1)
                unsafe nghttp2_option_set_stream_reset_rate_limit(
                    option, limits.resetBurst, limits.resetsPerSecond)
            },
            callbacks: { set in unsafe install(in: set) })
    }

    private static func install(in set: OpaquePointer) {
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(set) { _, frame, context in
            unsafe ServerSession.with(context) { unsafe $0.beginHeaders(frame) }
        }
        unsafe nghttp2_session_callbacks_set_on_header_callback(set) {
            _, frame, name, nameCount, value, valueCount, flags, context in
            unsafe ServerSession.with(context) {
                unsafe $0.header(
                    frame, UnsafeBufferPointer(start: name, count: nameCount),
                    UnsafeBufferPointer(start: value, count: valueCount),
                    isIndexed: UInt32(flags) & NGHTTP2_NV_FLAG_NO_INDEX.rawValue == 0)
            }
        }
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(set) {
            _, _, stream, data, count, context in
            unsafe ServerSession.with(context) {
                unsafe $0.data(stream, UnsafeBufferPointer(start: data, count: count))
            }
        }
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(set) { _, frame, context in
            unsafe ServerSession.with(context) { unsafe $0.frameReceived(frame) }
        }
        unsafe nghttp2_session_callbacks_set_on_frame_send_callback(set) { _, frame, context in
            unsafe ServerSession.with(context) { unsafe $0.frameSent(frame) }
        }
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(set) { _, stream, code, context in
            unsafe ServerSession.with(context) { $0.streamClosed(stream, ErrorCode(rawValue: code)) }
        }
        unsafe nghttp2_session_callbacks_set_error_callback2(set) { _, _, message, count, context in
            unsafe ServerSession.with(context) { unsafe $0.note(message, count) }
        }
    }

    /// Runs a callback on the session in `context` and reports success to the library.
    private static func with(_ context: UnsafeMutableRawPointer?, _ body: (ServerSession) -> Void) -> Int32 {
        guard let context = unsafe context else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
        unsafe Unmanaged<ServerSession>.fromOpaque(context)._withUnsafeGuaranteedRef(body)
        return 0
    }

    private func note(_ message: UnsafePointer<CChar>?, _ count: Int) {
        let text = unsafe UnsafeRawBufferPointer(start: message, count: count)
        diagnostic = unsafe String(decoding: text, as: UTF8.self)
    }

    private func beginHeaders(_ frame: UnsafePointer<nghttp2_frame>?) {
        guard let frame = unsafe frame?.pointee, unsafe frame.headers.cat == NGHTTP2_HCAT_REQUEST else {
            return
        }
        let slot = streams.take { Stream() }
        streams[slot] = Stream()
        streams[slot].fields.reserveCapacity(fieldCount: 14, byteCount: 640)
        native.setSlot(slot, of: unsafe frame.hd.stream_id)
    }

    private func header(
        _ frame: UnsafePointer<nghttp2_frame>?, _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>, isIndexed: Bool
    ) {
        guard let frame = unsafe frame, let slot = native.slot(of: unsafe frame.pointee.hd.stream_id),
            streams[slot].stage == .headers
        else { return }
        guard streams[slot].fields.listSize + name.count + value.count + 32 <= limits.headerListBytes else {
            streams[slot].stage = .headersTooLarge
            return
        }
        unsafe streams[slot].fields.append(name, value, indexed: isIndexed)
    }

    private func data(_ stream: Int32, _ bytes: UnsafeBufferPointer<UInt8>) {
        guard let slot = native.slot(of: stream), streams[slot].stage == .body else { return }
        let room = limits.bodyBytes - streams[slot].body.count
        unsafe streams[slot].body.append(contentsOf: bytes.prefix(room))
        if bytes.count > room { deliver(stream, slot, isBodyComplete: false) }
    }

    private func frameReceived(_ frame: UnsafePointer<nghttp2_frame>?) {
        guard let frame = unsafe frame else { return }
        let head = unsafe frame.pointee.hd
        switch head.type {
        case FrameType.headers, FrameType.data:
            messageFrameReceived(head)
        case FrameType.settings where head.flags & FrameFlag.acknowledgement != 0:
            events.append(.settingsAcknowledged)
        case FrameType.ping where head.flags & FrameFlag.acknowledgement != 0:
            events.append(.pingAcknowledged(unsafe NativeSession.pingValue(frame)))
        case FrameType.goAway:
            events.append(.goAway(unsafe NativeSession.goAway(frame, debugDataLimit: limits.headerListBytes)))
        default:
            break
        }
    }

    private func messageFrameReceived(_ head: nghttp2_frame_hd) {
        guard let slot = native.slot(of: head.stream_id) else { return }
        let isEnd = head.flags & FrameFlag.endStream != 0
        if isEnd {
            streams[slot].isRequestEnded = true
            if streams[slot].isAnswered { earlyAnswers -= 1 }
        }
        switch streams[slot].stage {
        case .headersTooLarge:
            streams[slot].stage = .delivered
            respond(to: StreamID(rawValue: head.stream_id), HeaderFields(status: 431))
        case .headers where !isEnd:
            streams[slot].stage = .body
        case .headers, .body:
            if isEnd { deliver(head.stream_id, slot, isBodyComplete: true) }
        case .delivered:
            break
        }
    }

    private func deliver(_ stream: Int32, _ slot: Int, isBodyComplete: Bool) {
        streams[slot].stage = .delivered
        var request = ServerRequest(fields: HeaderFields(), isBodyComplete: isBodyComplete)
        swap(&request.fields, &streams[slot].fields)
        swap(&request.body, &streams[slot].body)
        events.append(.request(StreamID(rawValue: stream), request))
    }

    /// Stops reading a request whose response is already complete.
    private func frameSent(_ frame: UnsafePointer<nghttp2_frame>?) {
        guard let frame = unsafe frame else { return }
        let head = unsafe frame.pointee.hd
        if head.type == FrameType.goAway, !hasLeft {
            peerFault = unsafe NativeSession.diagnosis(frame) ?? peerFault
        }
        guard earlyAnswers > 0, head.type == FrameType.headers || head.type == FrameType.data,
            head.flags & FrameFlag.endStream != 0, let slot = native.slot(of: head.stream_id),
            streams[slot].isAnswered, !streams[slot].isRequestEnded
        else { return }
        // Fails only if memory ran out, which the next call reports.
        try? native.submitReset(head.stream_id, .noError)
    }

    private func streamClosed(_ stream: Int32, _ code: ErrorCode) {
        guard let slot = native.slot(of: stream) else { return }
        if streams[slot].isAnswered, !streams[slot].isRequestEnded { earlyAnswers -= 1 }
        let isServed = streams[slot].isAnswered && code == .noError
        if !isServed { events.append(.aborted(StreamID(rawValue: stream), code)) }
        streams[slot].response = []
        streams.release(slot)
    }

    /// Reads a response's body from its slot while frames are collected.
    static func bodySource(slot: Int) -> nghttp2_data_provider {
        unsafe nghttp2_data_provider(source: nghttp2_data_source(fd: Int32(slot))) {
            _, _, buffer, count, flags, source, context in
            guard let context = unsafe context, let slot = unsafe source?.pointee.fd else {
                return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
            }
            return unsafe Unmanaged<ServerSession>.fromOpaque(context)._withUnsafeGuaranteedRef {
                let target = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: count)
                let piece = unsafe $0.readResponse(slot: Int(slot), into: target)
                if piece.isEnd { unsafe flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
                return piece.count
            }
        }
    }

    /// Copies the next piece of a response's body into a DATA frame.
    func readResponse(
        slot: Int, into buffer: UnsafeMutableRawBufferPointer
    ) -> (count: Int, isEnd: Bool) {
        let offset = streams[slot].responseOffset
        let count = min(buffer.count, streams[slot].response.count - offset)
        unsafe streams[slot].response.withUnsafeBytes {
            unsafe buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<(offset + count)]))
        }
        streams[slot].responseOffset = offset + count
        return (count, offset + count == streams[slot].response.count)
    }
}
