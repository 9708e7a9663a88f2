package import HTTP2

/// The outcome of a push.
package enum PushOutcome: Hashable, Sendable {
    /// Answered with 200 or with a reason.
    case answered(status: Int, reason: String?)
    /// Never answered.
    case stalled
    /// The stream was reset.
    case reset(ErrorCode)
    /// The connection was closed in response.
    case closed
    /// Not processed: cancelled, cut off or excluded by a GOAWAY before its answer was due.
    case abandoned

    /// Whether APNs accepted the push.
    package var isAccepted: Bool {
        if case .answered(200, _) = self { true } else { false }
    }
}

/// A recorded push and its outcome.
package struct PushRecord: Sendable {
    /// The push's number, from 1, in the order in which outcomes were decided.
    package internal(set) var sequence: UInt64 = 0
    /// When the push was received, in milliseconds since 1970.
    package let receivedAt: Int64
    package let environment: PushEnvironment
    /// The connection's number.
    package let connection: UInt64
    package let stream: StreamID
    package let request: PushRequest
    /// The `apns-id` in the answer.
    package let id: MessageID
    /// The `apns-unique-id` in the answer; in the sandbox only.
    package let uniqueID: MessageID?
    /// What exactly was wrong with a refused push.
    package let detail: String?
    /// The rule that decided the outcome.
    package let rule: String?
    package var outcome: PushOutcome

    /// Creates a record without a number.
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
