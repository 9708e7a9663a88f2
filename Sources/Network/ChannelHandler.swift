/// What a channel tells its owner.
///
/// All calls come on the loop's thread.
package protocol ChannelHandler: AnyObject {
    /// The connection stands, with its TLS handshake where it has one.
    func channelActive(_ channel: Channel)
    /// Bytes came in. They are valid during the call only.
    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer)
    /// The peer will send no more; it may still read.
    func channelReadEnded(_ channel: Channel)
    /// The bytes waiting to go out fell below the low-water mark after they had passed the high one.
    func channelWritable(_ channel: Channel)
    /// The channel is over. Called exactly once, last, at the end of a turn.
    func channelClosed(_ channel: Channel, reason: ChannelCloseReason)
}

/// How far a connection that this side makes has come; where it stood still, when connecting took too long.
package enum ConnectStage: Sendable, Equatable {
    /// The name is looked up.
    case name
    /// The TCP connection is made.
    case socket
    /// The TLS handshake is under way.
    case handshake
    /// It stands, or stood.
    case open
}

/// Why a channel ended.
package enum ChannelCloseReason: Equatable, Sendable, CustomStringConvertible {
    /// This side closed it.
    case local
    /// The peer closed it in order.
    case peer
    /// The peer or the network broke it, with the system's error number.
    case failed(errno: Int32)
    /// The name has no address; the resolver's own words.
    case unresolved(String)
    /// No address took the connection; the last one's error number.
    case connectFailed(errno: Int32)
    /// The TLS handshake or a record failed; OpenSSL's own words.
    case tls(String)
    /// Connecting, with the handshake, took longer than allowed.
    case connectTimeout
    /// The last bytes did not leave in the time allowed.
    case flushTimeout

    package var description: String {
        switch self {
        case .local: "closed here"
        case .peer: "closed by the peer"
        case .failed(let code): errorText(code)
        case .unresolved(let detail): "name not resolved: \(detail)"
        case .connectFailed(let code): "cannot connect: \(errorText(code))"
        case .tls(let detail): "TLS: \(detail)"
        case .connectTimeout: "connecting took too long"
        case .flushTimeout: "the peer stopped reading"
        }
    }
}
