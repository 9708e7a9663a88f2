package import HTTP2

/// What happens to a client's connections, for logs and counters; no push and no secret in it.
package enum ClientConnectionEvent: Sendable, Equatable {
    /// A connection stands; the address as text.
    case connected(String)
    /// A connection ended; the number of pushes that were on it without an answer.
    case closed(ConnectionEnd, unanswered: Int)
    /// The server wants the connection to end, and why, in its own words where it gave any.
    case goAway(ErrorCode, reason: Reason?)
    /// The client gives a connection up and replaces it.
    case replaced(ConnectionReplacement)
}

/// Why a client replaces a connection that the server would have kept.
package enum ConnectionReplacement: Sendable, Equatable {
    /// The server owes answers and said nothing for ``ClientSettings/silenceMax``.
    case silent(unanswered: Int)
    /// Pushes wait, and the server has allowed no streams for ``ClientSettings/noStreamsMax``.
    case noStreams
    /// There is a new provider token, and the server refused the old one on it or wouldn't take another on it yet.
    case newToken

    /// Every ``name``.
    package static let names = [Self.silent(unanswered: 0), .noStreams, .newToken].map(\.name)

    /// The reason as metrics have it.
    package var name: String {
        switch self {
        case .silent: "silent"
        case .noStreams: "no_streams"
        case .newToken: "new_token"
        }
    }
}

/// A client's counters since it was made, and how it stands now.
package struct ClientStatistics: Sendable, Equatable {
    /// Connections that take pushes.
    package var openConnections = 0
    /// Connections on their way.
    package var connectingConnections = 0
    /// Connections that wait for their last answers.
    package var retiringConnections = 0
    /// Pushes on connections.
    package var pushesUnderWay = 0
    /// Pushes that wait for a connection with room.
    package var pushesWaiting = 0
    /// Connections that stood, in all.
    package var connectionsOpened: UInt64 = 0
    /// Connections that never came to be.
    package var connectionsFailed: UInt64 = 0
    /// Connections that were given up and replaced, by ``ConnectionReplacement/name``.
    package var connectionsReplaced: [String: UInt64] = [:]
    /// GOAWAY frames by reason, or by error code where there is none.
    package var goAways: [String: UInt64] = [:]
    /// Pushes that APNs took.
    package var accepted: UInt64 = 0
    /// Pushes that APNs refused, by reason.
    package var rejected: [String: UInt64] = [:]
    /// Pushes without an answer, by cause.
    package var unreachable: [String: UInt64] = [:]
    /// Pushes that went to a connection again because the first certainly did nothing for them.
    package var moved: UInt64 = 0

    /// Nothing counted.
    package init() {}
}
