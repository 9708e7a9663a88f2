package import HTTP2

/// What became of a push.
package enum PushOutcome: Hashable, Sendable {
    /// It was answered: with 200, or with a reason.
    case answered(status: Int, reason: String?)
    /// It is never answered.
    case stalled
    /// Its stream was reset.
    case reset(ErrorCode)
    /// Its connection was cut in answer to it.
    case closed
    /// The client gave up, the connection ended, or a GOAWAY excluded it, before the answer was due: not processed.
    case abandoned

    /// Whether APNs took the push.
    package var isAccepted: Bool {
        if case .answered(200, _) = self { true } else { false }
    }
}

/// A push as it came, and what became of it.
package struct PushRecord: Sendable {
    /// Counts from 1; pushes are numbered in the order in which their fate was sealed.
    package internal(set) var sequence: UInt64 = 0
    /// When it came, in milliseconds since 1970.
    package let receivedAt: Int64
    package let environment: PushEnvironment
    /// The number of the connection.
    package let connection: UInt64
    package let stream: StreamID
    package let request: PushRequest
    /// The `apns-id` in the answer.
    package let id: MessageID
    /// The `apns-unique-id` in the answer; in the sandbox only.
    package let uniqueID: MessageID?
    /// What exactly was wrong with a push that was refused.
    package let detail: String?
    /// The rule that decided.
    package let rule: String?
    package var outcome: PushOutcome

    /// A push that has no number yet.
    package init(
        receivedAt: Int64, environment: PushEnvironment, connection: UInt64, stream: StreamID,
        request: PushRequest,
        id: MessageID, uniqueID: MessageID?, detail: String?, rule: String?, outcome: PushOutcome
    ) {
        self.receivedAt = receivedAt
        self.environment = environment
        self.connection = connection
        self.stream = stream
        self.request = request
        self.id = id
        self.uniqueID = uniqueID
        self.detail = detail
        self.rule = rule
        self.outcome = outcome
    }
}
