package import HTTP2

/// An action on connections, requested through the control API.
package enum ConnectionCommand: Hashable, Sendable {
    /// GOAWAY with a code, debug data and a last stream.
    case goAway(ErrorCode, debugData: [UInt8], upTo: LastStream)
    /// Closes the connection immediately.
    case close
    /// Stops reading and writing.
    case stall
    /// Resumes reading and writing.
    case resume
    /// Sets the connection's SETTINGS_MAX_CONCURRENT_STREAMS until the limit for all connections changes.
    case limitStreams(UInt32)

    /// The last stream in a GOAWAY; later streams are not processed.
    package enum LastStream: Hashable, Sendable {
        /// The newest received stream: every received push is still answered.
        case received
        /// The newest answered stream: unanswered pushes are excluded and not processed.
        case answered
        case number(StreamID)
    }
}

/// Which connections a command is for; `nil` matches any.
package struct ConnectionTarget: Hashable, Sendable {
    package var environment: PushEnvironment?
    /// The number of one connection.
    package var connection: UInt64?
    /// Whether the command also applies to new connections; only for stalling.
    package var includesNew = false

    /// All open connections.
    package init() {}
}

/// The state of an open connection.
package struct ConnectionInfo: Sendable {
    package let id: UInt64
    package let environment: PushEnvironment
    /// The client's address and port.
    package let remote: String
    /// When the handshake completed, in milliseconds since 1970.
    package let openedAt: Int64
    /// The number of pushes received.
    package let pushes: Int
    /// The number of open streams.
    package let openStreams: Int
    /// Whether a push has succeeded, which raises the stream limit.
    package let isPrimed: Bool
    package let isStalled: Bool
    /// The provider token that the connection is bound to.
    package let token: ProviderToken?
}
