import COpenSSL

/// Counts a peer's TLS records and stops OpenSSL from reading when too many carry no data.
///
/// A single `SSL_read` processes key updates, session tickets and refused renegotiations for as long as the peer
/// keeps sending them, and each costs far more than a byte of data.
@safe final class TLSInboundCount {
    /// The maximum number of handshake messages and records without application data.
    ///
    /// A handshake has about ten. A KeyUpdate counts twice: as a record and as a message.
    static let controlMessagesMax = 128
    /// The number of bytes after which the peer may send one more control message, so that old connections can still
    /// update keys.
    static let bytesPerControlMessage = 64 * 1024

    private static let headerBytes = 5

    /// The size of all records received, including headers.
    private(set) var recordBytes = 0
    private var controlMessages = 0

    /// Starts counting on `ssl`, which must not outlive this object.
    init(on ssl: OpaquePointer?) {
        unsafe SSL_set_msg_callback(ssl, messageReceived)
        unsafe SSL_ctrl(
            ssl, SSL_CTRL_SET_MSG_CALLBACK_ARG, 0, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Whether the peer has sent too many control messages.
    var isExceeded: Bool {
        controlMessages > Self.controlMessagesMax + recordBytes / Self.bytesPerControlMessage
    }

    /// Counts what OpenSSL has read: a record header, the type inside an encrypted record, or a handshake message.
    fileprivate func note(_ kind: Int32, _ bytes: UnsafeRawBufferPointer) {
        switch kind {
        case SSL3_RT_HEADER where bytes.count == Self.headerBytes:
            recordBytes += unsafe Self.headerBytes + Int(bytes[3]) << 8 + Int(bytes[4])
            if unsafe bytes[0] != UInt8(SSL3_RT_APPLICATION_DATA) { controlMessages += 1 }
        case SSL3_RT_INNER_CONTENT_TYPE where bytes.count == 1:
            if unsafe bytes[0] != UInt8(SSL3_RT_APPLICATION_DATA) { controlMessages += 1 }
        case SSL3_RT_HANDSHAKE:
            controlMessages += 1
        default:
            break
        }
    }
}

private func messageReceived(
    _ isWritten: Int32, _ version: Int32, _ kind: Int32, _ bytes: UnsafeRawPointer?, _ count: Int,
    _ ssl: OpaquePointer?, _ context: UnsafeMutableRawPointer?
) {
    guard isWritten == 0, let context = unsafe context else { return }
    // No reference counting here, since this runs for every record.
    let isExceeded = unsafe Unmanaged<TLSInboundCount>.fromOpaque(context)._withUnsafeGuaranteedRef {
        inbound in
        unsafe inbound.note(kind, UnsafeRawBufferPointer(start: bytes, count: count))
        return inbound.isExceeded
    }
    // OpenSSL checks this flag before it processes the next record.
    if isExceeded { unsafe SSL_set_shutdown(ssl, SSL_get_shutdown(ssl) | SSL_RECEIVED_SHUTDOWN) }
}
