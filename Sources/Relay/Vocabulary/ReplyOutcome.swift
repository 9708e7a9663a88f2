/// What can become of a reply.
enum ReplyOutcome: String, CaseIterable, Sendable {
    /// The agent has taken it.
    case taken
    /// The question was answered somewhere else, for example at the computer.
    case answeredElsewhere = "answered_elsewhere"
    /// Nobody asks any more.
    case tooLate = "too_late"
    /// The sender or the agent doesn't accept it.
    case refused
    /// The agent couldn't be reached for as long as the sender tried.
    case notDelivered = "not_delivered"
}
