import COpenSSL
import Glibc

/// OpenSSL's context for one side of TLS; freed with the last connection.
@safe final class TLSSettings: @unchecked Sendable {  // why: an SSL_CTX may be shared
    let context: OpaquePointer
    /// The ALPN protocols in order of preference, in RFC 7301's wire format.
    let protocols: [UInt8]
    /// When this side's own certificate expires, in seconds since 1970.
    fileprivate(set) var certificateExpiry: Int64?

    init(method: OpaquePointer?, alpn: [String]) throws(NetworkError) {
        guard let context = unsafe SSL_CTX_new(method) else { throw .tls(opensslErrorText()) }
        unsafe self.context = context
        protocols = alpn.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        unsafe relay_SSL_CTX_configure(context)
    }

    deinit {
        unsafe SSL_CTX_free(context)
    }
}

/// A listener's certificate, which can be replaced while connections stay open.
package final class TLSServerContext: Sendable {
    private let certificateFile: String
    private let keyFile: String
    private let alpn: [String]
    private let settings: Lock<TLSSettings>

    /// Reads a PEM certificate chain (leaf first) and its PEM private key.
    ///
    /// - Parameter alpn: The protocols in order of preference; a client that offers none of them is refused.
    package init(certificateFile: String, keyFile: String, alpn: [String]) throws(NetworkError) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
        self.alpn = alpn
        settings = Lock(try Self.load(certificateFile, keyFile, alpn))
    }

    /// Reads both files again: new connections get the new certificate.
    ///
    /// After an error, the old one stays in use.
    package func reload() throws(NetworkError) {
        let new = try Self.load(certificateFile, keyFile, alpn)
        settings.withLock { $0 = new }
    }

    var current: TLSSettings { settings.withLock { $0 } }

    /// When the certificate expires, in seconds since 1970; nil if OpenSSL can't read the date.
    package var certificateExpiry: Int64? { current.certificateExpiry }

    private static func load(
        _ certificateFile: String, _ keyFile: String, _ alpn: [String]
    ) throws(NetworkError) -> TLSSettings {
        let certificate = try contents(ofFile: certificateFile)
        let key = try contents(ofFile: keyFile)
        let settings = try unsafe TLSSettings(method: TLS_server_method(), alpn: alpn)
        ERR_clear_error()
        guard unsafe useChain(certificate, settings.context) else { throw .badCertificate(certificateFile) }
        settings.certificateExpiry = unsafe expiry(of: settings.context)
        guard let privateKey = unsafe readKey(key) else { throw .badKey(keyFile) }
        defer { unsafe EVP_PKEY_free(privateKey) }
        guard unsafe SSL_CTX_use_PrivateKey(settings.context, privateKey) == 1 else {
            throw .keyMismatch(certificate: certificateFile, key: keyFile)
        }
        unsafe SSL_CTX_set_alpn_select_cb(
            settings.context, selectProtocol, Unmanaged.passUnretained(settings).toOpaque())
        return settings
    }

    /// Loads the leaf, then the rest of the chain.
    ///
    /// OpenSSL's own function for this accepts only a file's path, but the file must be read only once.
    private static func useChain(_ pem: [UInt8], _ context: OpaquePointer) -> Bool {
        guard let bio = unsafe BIO_new_mem_buf(pem, Int32(pem.count)) else { return false }
        defer { unsafe BIO_free(bio) }
        guard let leaf = unsafe PEM_read_bio_X509_AUX(bio, nil, noPassphrase, nil) else { return false }
        defer { unsafe X509_free(leaf) }
        guard unsafe SSL_CTX_use_certificate(context, leaf) == 1 else { return false }
        while let next = unsafe PEM_read_bio_X509(bio, nil, noPassphrase, nil) {
            // On success, the context takes ownership of the certificate.
            guard unsafe relay_SSL_CTX_add0_chain_cert(context, next) == 1 else {
                unsafe X509_free(next)
                return false
            }
        }
        // The end of the file is reported as a missing start line; any other error means a damaged certificate.
        let isEnd = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE
        ERR_clear_error()
        return isEnd
    }

    private static func expiry(of context: OpaquePointer) -> Int64? {
        guard let leaf = unsafe SSL_CTX_get0_certificate(context) else { return nil }
        var date = unsafe tm()
        guard unsafe ASN1_TIME_to_tm(X509_get0_notAfter(leaf), &date) == 1 else { return nil }
        return Int64(unsafe timegm(&date))
    }

    private static func readKey(_ pem: [UInt8]) -> OpaquePointer? {
        guard let bio = unsafe BIO_new_mem_buf(pem, Int32(pem.count)) else { return nil }
        defer { unsafe BIO_free(bio) }
        return unsafe PEM_read_bio_PrivateKey(bio, nil, noPassphrase, nil)
    }
}

/// The authorities that a client trusts: the system's, or the certificates in one file.
///
/// Requires TLS 1.2 or newer.
package final class TLSClientContext: Sendable {
    let settings: TLSSettings

    /// - Parameters:
    ///   - caFile: PEM certificates to trust instead of the system's.
    ///   - alpn: The protocols to offer, in order of preference.
    package init(caFile: String?, alpn: [String]) throws(NetworkError) {
        settings = try unsafe TLSSettings(method: TLS_client_method(), alpn: alpn)
        unsafe SSL_CTX_set_verify(settings.context, SSL_VERIFY_PEER, nil)
        if let caFile {
            _ = try contents(ofFile: caFile)
            guard unsafe SSL_CTX_load_verify_locations(settings.context, caFile, nil) == 1 else {
                ERR_clear_error()
                throw .badCertificate(caFile)
            }
        } else {
            unsafe SSL_CTX_set_default_verify_paths(settings.context)
        }
        if !settings.protocols.isEmpty {
            unsafe SSL_CTX_set_alpn_protos(
                settings.context, settings.protocols, UInt32(settings.protocols.count))
        }
    }
}

extension TLSClientContext {
    /// Trusts any certificate.
    ///
    /// Only for a listener on this machine, whose certificate is issued for its public name.
    package convenience init(unverified alpn: [String]) throws(NetworkError) {
        try self.init(caFile: nil, alpn: alpn)
        unsafe SSL_CTX_set_verify(settings.context, SSL_VERIFY_NONE, nil)
    }
}

/// Refuses a passphrase, which OpenSSL would otherwise ask for at the terminal.
private func noPassphrase(
    _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int32, _ writing: Int32,
    _ context: UnsafeMutableRawPointer?
) -> Int32 { -1 }

private func selectProtocol(
    _ ssl: OpaquePointer?, _ out: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ outLength: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?, _ offeredLength: UInt32,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context = unsafe context, let out = unsafe out, let outLength = unsafe outLength,
        let offered = unsafe offered
    else { return SSL_TLSEXT_ERR_NOACK }
    let settings = unsafe Unmanaged<TLSSettings>.fromOpaque(context).takeUnretainedValue()
    guard !settings.protocols.isEmpty else { return SSL_TLSEXT_ERR_NOACK }
    let list = unsafe UnsafeBufferPointer(start: offered, count: Int(offeredLength))
    var mine = 0
    while mine < settings.protocols.count {
        let name = settings.protocols[(mine + 1)..<(mine + 1 + Int(settings.protocols[mine]))]
        var theirs = 0
        while theirs < list.count, unsafe theirs + 1 + Int(list[theirs]) <= list.count {
            let length = unsafe Int(list[theirs])
            if unsafe list[(theirs + 1)..<(theirs + 1 + length)].elementsEqual(name) {
                unsafe out.pointee = offered + theirs + 1
                unsafe outLength.pointee = UInt8(length)
                return SSL_TLSEXT_ERR_OK
            }
            theirs += 1 + length
        }
        mine += 1 + name.count
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL
}

/// OpenSSL's message for the latest error on this thread; clears its error queue.
func opensslErrorText() -> String {
    let code = ERR_peek_last_error()
    ERR_clear_error()
    guard code != 0, let reason = unsafe ERR_reason_error_string(code) else { return "no reason given" }
    return unsafe String(cString: reason)
}
