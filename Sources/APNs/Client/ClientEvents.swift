package import HTTP2

/// Connection events, for logs and counters; they contain no push contents or secrets.
package enum ClientConnectionEvent: Sendable, Equatable {
    /// A connection to this address was established.
    case connected(String)
    /// A connection ended with this number of unanswered pushes.
    case closed(ConnectionEnd, unanswered: Int)
    /// The server sent GOAWAY, with its reason if it gave one.
    case goAway(ErrorCode, reason: Reason?)
    /// The client is replacing a connection.
    case replaced(ConnectionReplacement)
}

/// Why a client replaces a connection that the server did not close.
package enum ConnectionReplacement: Sendable, Equatable {
    /// Responses were outstanding and the server sent nothing for ``ClientSettings/silenceMax``.
    case silent(unanswered: Int)
    /// Pushes were queued and the server allowed no streams for ``ClientSettings/noStreamsMax``.
    case noStreams
    /// The provider token changed; on this connection, the server refused the old one or refuses a new one for now.
    case newToken

    /// All values of ``name``.
    package static let names = [Self.silent(unanswered: 0), .noStreams, .newToken].map(\.name)

    /// The reason as a metric label.
    package var name: String {
        switch self {
        case .silent: "silent"
        case .noStreams: "no_streams"
        case .newToken: "new_token"
        }
    }
}

/// A client's current state and its counters since its creation.
package struct ClientStatistics: Sendable, Equatable {
    /// Open connections that accept pushes.
    package var openConnections = 0
    /// Connections being established.
    package var connectingConnections = 0
    /// Retired connections waiting for their last responses.
    package var retiringConnections = 0
    /// Pushes in flight.
    package var pushesUnderWay = 0
    /// Queued pushes.
    package var pushesWaiting = 0
    /// Connections established in total.
    package var connectionsOpened: UInt64 = 0
    /// Connections that could not be established.
    package var connectionsFailed: UInt64 = 0
    /// Replaced connections, by ``ConnectionReplacement/name``.
    package var connectionsReplaced: [String: UInt64] = [:]
    /// GOAWAY frames by reason, or by error code if they have none.
    package var goAways: [String: UInt64] = [:]
    /// Accepted pushes.
    package var accepted: UInt64 = 0
    /// Refused pushes, by reason.
    package var rejected: [String: UInt64] = [:]
    /// Pushes without a response, by cause.
    package var unreachable: [String: UInt64] = [:]
    /// Pushes sent again because they were not processed the first time.
    package var moved: UInt64 = 0

    /// Creates counters that are all zero.
    package init() {}
}
