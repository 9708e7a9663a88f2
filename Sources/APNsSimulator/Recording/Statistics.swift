/// Counters for one environment, or for Web Push, since the start or the last reset.
package struct Statistics: Sendable {
    /// Connections that completed the TLS handshake.
    package var connectionsOpened = 0
    /// Currently open connections.
    package var connectionsOpen = 0
    /// Connections that ended before completing the handshake.
    package var handshakesFailed = 0
    /// Connections refused because `acceptsConnections` was off.
    package var connectionsRefused = 0
    package private(set) var accepted = 0
    /// Responses other than 200, by status.
    package private(set) var statuses: [Int: Int] = [:]
    /// Responses other than 200, by reason.
    package private(set) var reasons: [String: Int] = [:]
    package private(set) var stalled = 0
    package private(set) var reset = 0
    package private(set) var closed = 0
    package private(set) var abandoned = 0
    /// Pushes whose `apns-id` had already been seen.
    package private(set) var repeatedIDs = 0
    /// Accepted pushes whose `apns-id` had already been accepted: duplicate deliveries.
    package private(set) var acceptedTwice = 0
    /// Accepted Web Pushes that the browser couldn't read.
    package private(set) var undecryptable = 0

    /// Creates counters that are all zero.
    package init() {}

    /// The counters after a reset: only the open connections remain.
    package var afterReset: Statistics {
        var left = Statistics()
        left.connectionsOpen = connectionsOpen
        return left
    }

    /// All pushes with a decided outcome.
    package var pushes: Int {
        accepted + stalled + reset + closed + abandoned + statuses.values.reduce(0, +)
    }

    /// Counts an outcome and whether the push's identifier had already been seen.
    package mutating func count(
        _ outcome: PushOutcome, isRepeated earlier: MessageIDMemory.Earlier = .nothing,
        isUndecryptable: Bool = false
    ) {
        if earlier != .nothing { repeatedIDs += 1 }
        if earlier == .accepted, outcome.isAccepted { acceptedTwice += 1 }
        if isUndecryptable, outcome.isAccepted { undecryptable += 1 }
        switch outcome {
        case .answered(200...201, _): accepted += 1
        case .answered(let status, let reason):
            statuses[status, default: 0] += 1
            if let reason { reasons[reason, default: 0] += 1 }
        case .stalled: stalled += 1
        case .reset: reset += 1
        case .closed: closed += 1
        case .abandoned: abandoned += 1
        }
    }
}
