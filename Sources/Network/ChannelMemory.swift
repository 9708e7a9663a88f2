/// What connections take of memory, in bytes, as measured with OpenSSL 3.0; docs/OPERATIONS.md has the whole figures.
enum ChannelMemory {
    /// An open connection without TLS, with its HTTP server's part.
    static let plainBytes = 2 * 1024
    /// An open connection with TLS.
    static let tlsBytes = 16 * 1024
    /// A connection whose TLS handshake is under way.
    static let handshakeBytes = 48 * 1024
    /// A buffer for a TLS record, which OpenSSL keeps while it holds a part of one.
    static let recordBytes = 17 * 1024
}
