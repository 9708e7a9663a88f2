/// The outcome of a reply, as the event's sender reports it.
enum ReplyOutcome: String, CaseIterable, Sendable {
    /// The agent accepted it.
    case taken
    /// The question was answered somewhere else, for example at the computer.
    case answeredElsewhere = "answered_elsewhere"
    /// The request is no longer open.
    case tooLate = "too_late"
    /// The sender or the agent doesn't accept it.
    case refused
    /// The agent couldn't be reached for as long as the sender tried.
    case notDelivered = "not_delivered"
}
