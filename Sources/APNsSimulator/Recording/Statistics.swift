/// Counts of what happened in one environment since the start or the last reset.
package struct Statistics: Sendable {
    /// Connections whose TLS handshake is done.
    package var connectionsOpened = 0
    /// Connections that are open now.
    package var connectionsOpen = 0
    /// Connections that ended before their handshake was done.
    package var handshakesFailed = 0
    /// Connections that were refused because the simulator was told so.
    package var connectionsRefused = 0
    package private(set) var accepted = 0
    /// Answers other than 200, by status.
    package private(set) var statuses: [Int: Int] = [:]
    /// Answers other than 200, by reason.
    package private(set) var reasons: [String: Int] = [:]
    package private(set) var stalled = 0
    package private(set) var reset = 0
    package private(set) var closed = 0
    package private(set) var abandoned = 0
    /// Pushes with an `apns-id` that had come before.
    package private(set) var repeatedIDs = 0
    /// Pushes that were accepted although one with the same `apns-id` had been: delivered twice.
    package private(set) var acceptedTwice = 0

    /// Nothing has happened.
    package init() {}

    /// What is left after a reset: the connections that are open.
    package var afterReset: Statistics {
        var left = Statistics()
        left.connectionsOpen = connectionsOpen
        return left
    }

    /// Pushes whose fate is sealed, in all.
    package var pushes: Int {
        accepted + stalled + reset + closed + abandoned + statuses.values.reduce(0, +)
    }

    /// Counts what became of a push, and whether its identifier had come before.
    package mutating func count(
        _ outcome: PushOutcome, isRepeated earlier: MessageIDMemory.Earlier = .nothing
    ) {
        if earlier != .nothing { repeatedIDs += 1 }
        if earlier == .accepted, outcome.isAccepted { acceptedTwice += 1 }
        switch outcome {
        case .answered(200, _): accepted += 1
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
