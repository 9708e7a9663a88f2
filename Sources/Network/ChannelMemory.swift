/// A connection's memory in bytes, measured with OpenSSL 3.0 (`./dev bench sizes`, docs/operate/scale.md).
enum ChannelMemory {
    /// An open connection without TLS, including the HTTP server's state.
    static let plainBytes = 2 * 1024
    /// An open connection with TLS.
    static let tlsBytes = 16 * 1024
    /// A connection during its TLS handshake.
    static let handshakeBytes = 48 * 1024
    /// A TLS record buffer, which OpenSSL keeps while it holds part of a record.
    static let recordBytes = 17 * 1024
}
