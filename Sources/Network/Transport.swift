import COpenSSL
import Glibc

/// The result of one attempt to read or write.
enum TransportResult {
    /// The number of bytes transferred, at least one.
    case bytes(Int)
    /// Would block until the socket is readable.
    case needsRead
    /// Would block until the socket is writable.
    case needsWrite
    /// The peer closed its side cleanly.
    case end
    case failed(ChannelCloseReason)
}

/// A connected socket, plain or with TLS; never blocks.
@safe struct Transport: ~Copyable {
    /// The maximum payload of a TLS record (RFC 8446, section 5.1).
    private static let recordBytesMax = 1 << 14

    let descriptor: Int32
    private let ssl: OpaquePointer?
    /// Counts the peer's TLS records; nil without TLS.
    private let inbound: TLSInboundCount?
    /// Keeps OpenSSL's settings alive, including the ALPN protocols that its callback reads.
    private let settings: TLSSettings?

    /// A socket without TLS.
    init(descriptor: Int32) {
        self.descriptor = descriptor
        unsafe ssl = nil
        inbound = nil
        settings = nil
    }

    /// The server side of TLS on a socket.
    init(descriptor: Int32, server settings: TLSSettings) {
        self.descriptor = descriptor
        self.settings = settings
        unsafe ssl = SSL_new(settings.context)
        inbound = unsafe TLSInboundCount(on: ssl)
        unsafe SSL_set_fd(ssl, descriptor)
        unsafe SSL_set_accept_state(ssl)
    }

    /// The client side of TLS on a socket; the certificate must be valid for `host`, a name or an IP literal.
    init(descriptor: Int32, client settings: TLSSettings, host: String) {
        self.descriptor = descriptor
        self.settings = settings
        unsafe ssl = SSL_new(settings.context)
        inbound = unsafe TLSInboundCount(on: ssl)
        unsafe SSL_set_fd(ssl, descriptor)
        if SocketAddress(ip: host, port: 0) != nil {
            unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host)
        } else {
            unsafe SSL_set1_host(ssl, host)
            _ = unsafe relay_SSL_set_server_name(ssl, host)
        }
        unsafe SSL_set_connect_state(ssl)
    }

    deinit {
        if let ssl = unsafe ssl { unsafe SSL_free(ssl) }
        Glibc.close(descriptor)
    }

    var isTLS: Bool { unsafe ssl != nil }

    /// Whether this is the server side of TLS, where the peer sends first.
    var isTLSServer: Bool { unsafe ssl != nil && SSL_is_server(ssl) == 1 }

    /// The bytes of TLS records received so far; 0 without TLS.
    var recordBytesReceived: Int { inbound?.recordBytes ?? 0 }

    /// Whether OpenSSL holds received bytes that it has not delivered, even if only part of a record.
    var hasUndeliveredBytes: Bool { unsafe ssl != nil && SSL_has_pending(ssl) == 1 }

    /// Continues the TLS handshake; `.bytes(1)` when it is complete.
    func handshake() -> TransportResult {
        guard let ssl = unsafe ssl else { return .bytes(1) }
        ERR_clear_error()
        let result = unsafe SSL_do_handshake(ssl)
        return result == 1 ? .bytes(1) : unsafe classify(ssl, result)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportResult {
        guard let ssl = unsafe ssl else {
            let count = unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return .bytes(count) }
            return count == 0 ? .end : systemFailure(again: .needsRead)
        }
        ERR_clear_error()
        let count = unsafe SSL_read(ssl, buffer.baseAddress, Int32(clamping: buffer.count))
        return count > 0 ? .bytes(Int(count)) : unsafe classify(ssl, count)
    }

    /// Whether another read might find data, after one that returned `count` bytes.
    ///
    /// If false, an event reports any later data.
    func mayHaveMore(after count: Int) -> Bool {
        guard let ssl = unsafe ssl else { return false }
        return unsafe count >= Self.recordBytesMax || SSL_has_pending(ssl) == 1
    }

    func write(_ buffer: UnsafeRawBufferPointer) -> TransportResult {
        guard let ssl = unsafe ssl else {
            let count = unsafe sendBytes(buffer, to: descriptor)
            return count > 0 ? .bytes(count) : systemFailure(again: .needsWrite)
        }
        ERR_clear_error()
        let count = unsafe SSL_write(ssl, buffer.baseAddress, Int32(clamping: buffer.count))
        return count > 0 ? .bytes(Int(count)) : unsafe classify(ssl, count)
    }

    /// Closes the write side: close_notify under TLS, then FIN.
    ///
    /// The peer may still send.
    func endWriting() {
        if let ssl = unsafe ssl, unsafe SSL_is_init_finished(ssl) == 1 {
            ERR_clear_error()
            unsafe SSL_shutdown(ssl)
            ERR_clear_error()
        }
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// The protocol chosen by ALPN (RFC 7301); nil without TLS or if the peer chose none.
    var alpn: String? {
        guard let ssl = unsafe ssl else { return nil }
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        unsafe SSL_get0_alpn_selected(ssl, &name, &length)
        guard let name = unsafe name, length > 0 else { return nil }
        return unsafe String(decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
    }

    /// `TLSv1.2` or `TLSv1.3`; nil without TLS.
    var tlsVersion: String? {
        guard let ssl = unsafe ssl, let name = unsafe SSL_get_version(ssl) else { return nil }
        return unsafe String(cString: name)
    }

    private func systemFailure(again: TransportResult) -> TransportResult {
        let code = errno
        return code == EAGAIN || code == EWOULDBLOCK || code == EINTR ? again : .failed(.failed(errno: code))
    }

    private func classify(_ ssl: OpaquePointer, _ result: Int32) -> TransportResult {
        let code = errno
        if inbound?.isExceeded == true {
            ERR_clear_error()
            return .failed(.tls("too many control messages"))
        }
        switch unsafe SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ: return .needsRead
        case SSL_ERROR_WANT_WRITE: return .needsWrite
        case SSL_ERROR_ZERO_RETURN: return .end
        case SSL_ERROR_SYSCALL where ERR_peek_error() == 0:
            return code == 0 ? .end : .failed(.failed(errno: code))
        default:
            let verification = unsafe SSL_get_verify_result(ssl)
            if verification != X509_V_OK, let text = unsafe X509_verify_cert_error_string(verification) {
                ERR_clear_error()
                return .failed(.tls("certificate refused: \(unsafe String(cString: text))"))
            }
            return .failed(.tls(opensslErrorText()))
        }
    }
}

/// send(2) without SIGPIPE when the peer is gone.
///
/// Must not be in a file that imports CEvent, because the constant would then belong to that module.
func sendBytes(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int {
    unsafe send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
}
