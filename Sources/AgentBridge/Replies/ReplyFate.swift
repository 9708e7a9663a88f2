import JSON
import PushSealing

/// The result of a reply, for the phone.
struct ReplyFate: Sendable, Equatable {
    let outcome: ReplyOutcome
    /// The reason in one word, for programs.
    var reason: String?

    static let taken = Self(outcome: .taken)
    /// The agent was allowed less than the reply asked for: only this once, without new rules.
    static let takenOnce = Self(outcome: .taken, reason: "once")
    static let answeredElsewhere = Self(outcome: .answeredElsewhere)
    static let tooLate = Self(outcome: .tooLate)

    static func refused(_ reason: String) -> Self { Self(outcome: .refused, reason: reason) }

    static func notDelivered(_ reason: String? = nil) -> Self {
        Self(outcome: .notDelivered, reason: reason)
    }

    /// The fate of replies to a request that is over.
    init(_ end: RequestEnd) {
        switch end {
        case .answered: self = .answeredElsewhere
        case .withdrawn: self = .tooLate
        }
    }

    /// The fate of a reply that OpenCode hadn't accepted when the bridge stopped trying.
    init(after fault: ServerError?) {
        switch fault {
        case .status(let status) where (400..<500).contains(status): self = .refused("status_\(status)")
        case .unauthorized: self = .refused("unauthorized")
        case .status(let status): self = .notDelivered("status_\(status)")
        case .answer, .unknownServer: self = .notDelivered("unexpected_answer")
        case .unreachable, nil: self = .notDelivered()
        }
    }

    private init(outcome: ReplyOutcome, reason: String? = nil) {
        self.outcome = outcome
        self.reason = reason
    }

    /// The fate in one word, for the log.
    var word: String { reason ?? outcome.rawValue }

    /// The same fate after the server's response was lost: the answer that took effect may have been this reply.
    var unconfirmed: Self { Self(outcome: outcome, reason: "unconfirmed") }
}

extension ReplyRefusal {
    /// The reason for the outcome `refused`.
    var reason: String {
        switch self {
        case .readable: "not_sealed"
        case .noKey: "no_key"
        case .refused: "cannot_open"
        case .unknownAction: "unknown_action"
        case .notOffered: "not_offered"
        }
    }
}

/// A reply's result as the relay keeps it.
enum GivenResult: Sendable, Equatable {
    case readable(ReplyFate)
    case sealed(String)
}

extension ReplyOpener {
    /// The result of a reply, or of every later reply if none has arrived.
    ///
    /// Sealed if there is a key, unless the reply was readable.
    ///
    /// - Parameter seconds: The time in seconds since 1970.
    func result(
        _ fate: ReplyFate, of given: GivenReply?, to eventID: String, at seconds: Int
    ) throws(SealingFailure) -> GivenResult {
        guard let resultKey, given == nil || given?.sealed != nil else { return .readable(fate) }
        let result = SealedResult(
            outcome: fate.outcome, reason: fate.reason, ofReply: given?.sealed, sentAt: seconds)
        return .sealed(try result.sealed(for: eventID, with: resultKey))
    }
}
