/// An HTTP/2 error code in RST_STREAM and GOAWAY (RFC 9113, section 7).
///
/// An open set: peers may send any value.
package struct ErrorCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package var rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package static let noError = ErrorCode(rawValue: 0x0)
    package static let protocolError = ErrorCode(rawValue: 0x1)
    package static let internalError = ErrorCode(rawValue: 0x2)
    package static let flowControlError = ErrorCode(rawValue: 0x3)
    package static let settingsTimeout = ErrorCode(rawValue: 0x4)
    package static let streamClosed = ErrorCode(rawValue: 0x5)
    package static let frameSizeError = ErrorCode(rawValue: 0x6)
    package static let refusedStream = ErrorCode(rawValue: 0x7)
    package static let cancel = ErrorCode(rawValue: 0x8)
    package static let compressionError = ErrorCode(rawValue: 0x9)
    package static let connectError = ErrorCode(rawValue: 0xa)
    package static let enhanceYourCalm = ErrorCode(rawValue: 0xb)
    package static let inadequateSecurity = ErrorCode(rawValue: 0xc)
    package static let http11Required = ErrorCode(rawValue: 0xd)

    private static let names = [
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT",
        "STREAM_CLOSED", "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR",
        "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ]

    /// The name in RFC 9113, or the number.
    package var description: String {
        Int(rawValue) < Self.names.count ? Self.names[Int(rawValue)] : "0x" + String(rawValue, radix: 16)
    }
}

/// A GOAWAY frame: the peer processes no streams above `lastStreamID` (RFC 9113, section 6.8).
package struct GoAway: Hashable, Sendable {
    /// The last stream that the peer may have processed; later streams were not processed.
    ///
    /// 2^31-1 announces a graceful shutdown: a second GOAWAY follows.
    package var lastStreamID: Int32
    package var code: ErrorCode
    /// The peer's explanation.
    ///
    /// APNs sends `{"reason":"…"}`. At most `ClientLimits.debugDataBytes` bytes.
    package var debugData: [UInt8]

    package init(lastStreamID: Int32, code: ErrorCode, debugData: [UInt8] = []) {
        self.lastStreamID = lastStreamID
        self.code = code
        self.debugData = debugData
    }
}

/// Errors of a session.
package enum HTTP2Error: Error, Hashable, Sendable {
    /// The library could not allocate memory.
    case outOfMemory
    /// The peer violated the protocol or the library failed; with the library's message.
    case sessionFailed(String)
    /// No stream may be opened: GOAWAY was sent or received, stream identifiers ran out, or the session ended.
    case noNewStreams
    /// The peer's stream limit is reached.
    case streamLimit
    /// The library refuses to send a header field.
    case invalidHeader
}
