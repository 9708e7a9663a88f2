import COpenSSL
import Network

/// A TLS endpoint that can misbehave.
///
/// It runs OpenSSL over memory BIOs on a plain channel, so tests control every record it sends.
final class TLSPeer: ChannelHandler {
    private let context: OpaquePointer?
    private let ssl: OpaquePointer?
    private let incoming: OpaquePointer?
    private let outgoing: OpaquePointer?
    private var channel: Channel?
    private var records: TLS12Records?
    /// Called once when the handshake is complete.
    private var onHandshake: ((TLSPeer) -> Void)?
    private(set) var isClosed = false

    /// A client, or a server with a certificate; offers only `version`.
    init(
        serverFiles files: CertificateFiles? = nil, version: Int32 = TLS1_3_VERSION, tickets: Bool = true,
        onHandshake: @escaping (TLSPeer) -> Void
    ) {
        self.onHandshake = onHandshake
        context = SSL_CTX_new(files == nil ? TLS_client_method() : TLS_server_method())
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(version), nil)
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(version), nil)
        SSL_CTX_set_cipher_list(context, TLS12Records.cipherName)
        if !tickets { SSL_CTX_set_options(context, UInt64(1) << 14) }  // SSL_OP_NO_TICKET, a macro
        if let files {
            SSL_CTX_use_certificate_file(context, files.certificate, SSL_FILETYPE_PEM)
            SSL_CTX_use_PrivateKey_file(context, files.key, SSL_FILETYPE_PEM)
        }
        ssl = SSL_new(context)
        incoming = BIO_new(BIO_s_mem())
        outgoing = BIO_new(BIO_s_mem())
        SSL_set_bio(ssl, incoming, outgoing)
        if files == nil { SSL_set_connect_state(ssl) } else { SSL_set_accept_state(ssl) }
    }

    deinit {
        SSL_free(ssl)
        SSL_CTX_free(context)
    }

    // MARK: What it sends

    /// Sends KeyUpdate messages (RFC 8446, section 4.6.3), each in its own record.
    func renewKeys(_ count: Int) {
        for _ in 0..<count {
            SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED)
            SSL_do_handshake(ssl)
        }
        flush()
    }

    /// Sends session tickets (RFC 8446, section 4.6.1); only as a server.
    func issueTickets(_ count: Int) {
        for _ in 0..<count {
            SSL_new_session_ticket(ssl)
            SSL_do_handshake(ssl)
        }
        flush()
    }

    /// Sends application data in records of the given size.
    func send(_ bytes: [UInt8], recordBytes: Int) {
        for start in stride(from: 0, to: bytes.count, by: recordBytes) {
            let part = bytes[start..<min(start + recordBytes, bytes.count)]
            _ = part.withUnsafeBytes { SSL_write(ssl, $0.baseAddress, Int32($0.count)) }
        }
        flush()
    }

    /// Sends ClientHello messages (RFC 5246, section 7.4.1), then a byte of data; only as a TLS 1.2 client.
    func renegotiate(_ count: Int) {
        var records = records ?? TLS12Records(ssl)
        var bytes: [UInt8] = []
        for _ in 0..<count { bytes += records.seal(type: UInt8(SSL3_RT_HANDSHAKE), [1, 0, 0, 0]) }
        bytes += records.seal(type: UInt8(SSL3_RT_APPLICATION_DATA), [0x78])
        self.records = records
        channel?.write(bytes)
    }

    // MARK: ChannelHandler

    func channelActive(_ channel: Channel) {
        self.channel = channel
        advance()
    }

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        BIO_write(incoming, bytes.baseAddress, Int32(bytes.count))
        advance()
    }

    func channelReadEnded(_ channel: Channel) { channel.close() }

    func channelWritable(_ channel: Channel) {}

    func channelClosed(_ channel: Channel, reason: ChannelCloseReason) {
        isClosed = true
        self.channel = nil
    }

    private func advance() {
        if SSL_is_init_finished(ssl) == 0 { SSL_do_handshake(ssl) }
        var scratch = [UInt8](repeating: 0, count: 4096)
        while SSL_read(ssl, &scratch, Int32(scratch.count)) > 0 {}
        flush()
        if SSL_is_init_finished(ssl) == 1, let ready = onHandshake {
            onHandshake = nil
            ready(self)
        }
        ERR_clear_error()
    }

    private func flush() {
        var bytes = [UInt8](repeating: 0, count: Int(BIO_ctrl_pending(outgoing)))
        guard !bytes.isEmpty else { return }
        BIO_read(outgoing, &bytes, Int32(bytes.count))
        channel?.write(bytes)
    }
}

/// Encrypts arbitrary TLS 1.2 client records with the keys of a finished handshake.
struct TLS12Records {
    static let cipherName = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256"

    private let key: [UInt8]
    private let salt: [UInt8]
    /// The client's Finished message was record 0.
    private var sequence: UInt64 = 1

    init(_ ssl: OpaquePointer?) {
        var client = [UInt8](repeating: 0, count: 32)
        var server = client
        var master = [UInt8](repeating: 0, count: 48)
        SSL_get_client_random(ssl, &client, client.count)
        SSL_get_server_random(ssl, &server, server.count)
        SSL_SESSION_get_master_key(SSL_get_session(ssl), &master, master.count)
        // RFC 5246, section 6.3: both sides' keys of 16 bytes, then both sides' salts of 4; no MAC keys.
        let block = Self.expand(master, Array("key expansion".utf8) + server + client, 40)
        key = Array(block[0..<16])
        salt = Array(block[32..<36])
    }

    /// A complete record, encrypted with AES-128-GCM (RFC 5288, section 3).
    mutating func seal(type: UInt8, _ contents: [UInt8]) -> [UInt8] {
        let explicit = Self.bigEndian(sequence)
        let header = [type, 3, 3]
        let length = [UInt8(contents.count >> 8), UInt8(contents.count & 255)]
        var sealed = [UInt8](repeating: 0, count: contents.count)
        var tag = [UInt8](repeating: 0, count: 16)
        let additional = explicit + header + length
        let context = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(context) }
        var count: Int32 = 0
        EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), nil, key, salt + explicit)
        EVP_EncryptUpdate(context, nil, &count, additional, Int32(additional.count))
        if !contents.isEmpty { EVP_EncryptUpdate(context, &sealed, &count, contents, Int32(contents.count)) }
        var rest = [UInt8](repeating: 0, count: 16)
        EVP_EncryptFinal_ex(context, &rest, &count)
        EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, &tag)
        sequence += 1
        let total = explicit.count + sealed.count + tag.count
        return header + [UInt8(total >> 8), UInt8(total & 255)] + explicit + sealed + tag
    }

    /// The pseudorandom function of RFC 5246, section 5, with SHA-256.
    private static func expand(_ secret: [UInt8], _ seed: [UInt8], _ count: Int) -> [UInt8] {
        var output: [UInt8] = []
        var chained = seed
        while output.count < count {
            chained = hmac(secret, chained)
            output += hmac(secret, chained + seed)
        }
        return Array(output[..<count])
    }

    private static func hmac(_ key: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        HMAC(EVP_sha256(), key, Int32(key.count), bytes, bytes.count, &digest, nil)
        return digest
    }

    private static func bigEndian(_ number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * $0)) }
    }
}
