/// Receives a channel's events.
///
/// All calls are made on the loop's thread.
package protocol ChannelHandler: AnyObject {
    /// The connection is established, including its TLS handshake.
    func channelActive(_ channel: Channel)
    /// Bytes were received. They are valid only during the call.
    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer)
    /// The peer closed its write side; it may still read.
    func channelReadEnded(_ channel: Channel)
    /// All waiting bytes, which had exceeded the high-water mark, have been sent.
    func channelWritable(_ channel: Channel)
    /// The channel has closed. This is the last call, made exactly once, at the end of a turn.
    func channelClosed(_ channel: Channel, reason: ChannelCloseReason)
}

/// The progress of an outgoing connection; after a timeout, the step that took too long.
package enum ConnectStage: Sendable, Equatable {
    /// Resolving the name.
    case name
    /// Connecting the TCP socket.
    case socket
    /// Asking a proxy for a tunnel.
    case proxy
    /// Performing the TLS handshake.
    case handshake
    /// Established, now or earlier.
    case open
}

/// Why a channel closed.
package enum ChannelCloseReason: Equatable, Sendable, CustomStringConvertible {
    /// This side closed it.
    case local
    /// The peer closed it cleanly.
    case peer
    /// The peer or the network broke the connection; with the system's error number.
    case failed(errno: Int32)
    /// The name can't be resolved; with the resolver's message.
    case unresolved(String)
    /// No address accepted the connection; with the last error number.
    case connectFailed(errno: Int32)
    /// The name has no public address, and only public addresses were allowed.
    case notPublic
    /// The proxy did not open a tunnel; with the reason.
    case proxy(String)
    /// The TLS handshake or a record failed; with OpenSSL's message.
    case tls(String)
    /// Connecting, including the handshake, timed out.
    case connectTimeout
    /// The last bytes could not be sent in time.
    case flushTimeout

    package var description: String {
        switch self {
        case .local: "closed locally"
        case .peer: "closed by the peer"
        case .failed(let code): errorText(code)
        case .unresolved(let detail): "name not resolved: \(detail)"
        case .connectFailed(let code): "cannot connect: \(errorText(code))"
        case .notPublic: "the name has no public address"
        case .proxy(let detail): "the proxy: \(detail)"
        case .tls(let detail): "TLS: \(detail)"
        case .connectTimeout: "connecting timed out"
        case .flushTimeout: "the peer stopped reading"
        }
    }
}
