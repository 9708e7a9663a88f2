/// Why an address, a socket or a certificate can't be used.
///
/// `description` is safe to show: it contains no key material.
package enum NetworkError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The text isn't `host:port`, an IP address or `unix:/path`.
    case badAddress(String)
    /// Another program is already listening on the address.
    case addressInUse(String)
    /// The system can't listen on the address.
    case cannotListen(String, errno: Int32)
    /// A file can't be read.
    case unreadable(path: String, errno: Int32)
    /// The file contains no certificate that OpenSSL can read.
    case badCertificate(String)
    /// The file contains no private key that OpenSSL can read without a passphrase.
    case badKey(String)
    /// The certificate and the key don't match.
    case keyMismatch(certificate: String, key: String)
    /// An unexpected OpenSSL failure.
    case tls(String)

    package var description: String {
        switch self {
        case .badAddress(let text): "'\(text)' is not an address (expected HOST:PORT or [IPV6]:PORT)"
        case .addressInUse(let address):
            "\(address) is in use by another program; stop it or choose another port"
        case .cannotListen(let address, let code): "cannot listen on \(address): \(errorText(code))"
        case .unreadable(let path, let code): "cannot read \(path): \(errorText(code))"
        case .badCertificate(let name): "\(name) does not contain a PEM certificate"
        case .badKey(let name): "\(name) does not contain a PEM private key without a passphrase"
        case .keyMismatch(let certificate, let key):
            "the key in \(key) does not match the certificate in \(certificate)"
        case .tls(let detail): "TLS: \(detail)"
        }
    }
}
