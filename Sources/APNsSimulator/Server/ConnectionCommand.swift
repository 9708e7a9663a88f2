package import HTTP2

/// Something that is done to connections from outside.
package enum ConnectionCommand: Hashable, Sendable {
    /// GOAWAY with a code and an explanation, up to a stream.
    case goAway(ErrorCode, debugData: [UInt8], upTo: LastStream)
    /// Cut off at once.
    case close
    /// Nothing is read and nothing is written any more.
    case stall
    /// Reading and writing go on.
    case resume
    /// SETTINGS_MAX_CONCURRENT_STREAMS of its own, until the limits of all connections change.
    case limitStreams(UInt32)

    /// The stream above which a GOAWAY excludes all others.
    package enum LastStream: Hashable, Sendable {
        /// The newest one that was received: all that came are still answered.
        case received
        /// The newest one that was answered: what waits for its answer is excluded and was not processed.
        case answered
        case number(StreamID)
    }
}

/// Which connections a command is for; what is `nil` does not matter.
package struct ConnectionTarget: Hashable, Sendable {
    package var environment: PushEnvironment?
    /// The number of one connection.
    package var connection: UInt64?
    /// Whether it holds for connections that are opened later, too; for stalling only.
    package var includesNew = false

    /// Every connection that is open.
    package init() {}
}

/// What is known about an open connection.
package struct ConnectionInfo: Sendable {
    package let id: UInt64
    package let environment: PushEnvironment
    /// The client's address and port.
    package let remote: String
    /// When its handshake was done, in milliseconds since 1970.
    package let openedAt: Int64
    /// Pushes that came.
    package let pushes: Int
    /// Streams that are open.
    package let openStreams: Int
    /// Whether a push has succeeded, so that the full number of streams is allowed.
    package let isPrimed: Bool
    package let isStalled: Bool
    /// The provider token that the connection is bound to.
    package let token: ProviderToken?
}
