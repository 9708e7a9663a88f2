/// A sender's current state and its counters since its creation.
package struct SenderStatistics: Sendable, Equatable {
    /// Open connections, including those being established.
    package var connectionsOpen = 0
    /// Connections attempted in total.
    package var connectionsOpened: UInt64 = 0
    /// Requests under way.
    package var pushesUnderWay = 0
    /// Queued pushes.
    package var pushesWaiting = 0
    /// Accepted pushes.
    package var accepted: UInt64 = 0
    /// Refused pushes, by kind.
    package var rejected: [Rejection.Kind: UInt64] = [:]
    /// Pushes without a response, by cause.
    package var unreachable: [Unreachable.Cause: UInt64] = [:]

    /// Creates counters that are all zero.
    package init() {}

    mutating func count(_ outcome: Outcome) {
        switch outcome {
        case .accepted: accepted += 1
        case .rejected(let rejection): rejected[rejection.kind, default: 0] += 1
        case .unreachable(let unreachable): self.unreachable[unreachable.cause, default: 0] += 1
        }
    }
}
