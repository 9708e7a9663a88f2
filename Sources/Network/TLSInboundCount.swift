import COpenSSL

/// Counts what a peer sends under TLS, and stops OpenSSL from reading more when too little of it is data.
///
/// OpenSSL answers key updates, session tickets and refused renegotiations inside a single `SSL_read`, one after the other, for as
/// long as the peer sends them. Each costs far more than a byte of data.
@safe final class TLSInboundCount {
    /// Handshake messages, and records that hold no application data, that a peer may send.
    ///
    /// A handshake has about ten. A KeyUpdate counts twice: a record and a message.
    static let controlMessagesMax = 128
    /// A peer may send one more for each so many bytes of records, so that keys can be renewed on a connection of any age.
    static let bytesPerControlMessage = 64 * 1024

    private static let headerBytes = 5

    /// Bytes of all records received, with their headers.
    private(set) var recordBytes = 0
    private var controlMessages = 0

    /// Watches a connection, which must not outlive this object.
    init(on ssl: OpaquePointer?) {
        unsafe SSL_set_msg_callback(ssl, messageReceived)
        unsafe SSL_ctrl(
            ssl, SSL_CTRL_SET_MSG_CALLBACK_ARG, 0, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Whether the peer has sent too much that is not data.
    var isExceeded: Bool {
        controlMessages > Self.controlMessagesMax + recordBytes / Self.bytesPerControlMessage
    }

    /// Notes what OpenSSL has read: a record's header, the type inside an encrypted record, or a handshake message.
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
    // Without a reference count: this is called for every record.
    let isExceeded = unsafe Unmanaged<TLSInboundCount>.fromOpaque(context)._withUnsafeGuaranteedRef {
        inbound in
        unsafe inbound.note(kind, UnsafeRawBufferPointer(start: bytes, count: count))
        return inbound.isExceeded
    }
    // As if the peer had ended the connection: OpenSSL looks at this before it takes the next record.
    if isExceeded { unsafe SSL_set_shutdown(ssl, SSL_get_shutdown(ssl) | SSL_RECEIVED_SHUTDOWN) }
}
