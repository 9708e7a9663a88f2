import PushSealing

/// A reply as the relay keeps it.
struct GivenReply: Sendable, Equatable {
    var action: String?
    var text: String?
    var sealed: String?
}

/// Why a reply isn't used.
enum ReplyRefusal: Error, Sendable, Equatable, CustomStringConvertible {
    case readable
    case noKey
    case refused(Refusal)
    case unknownAction
    case notOffered

    var description: String {
        switch self {
        case .readable: "it isn't sealed, so the relay could have made it up"
        case .noKey: "it is sealed, and the secret has no key"
        case .refused(let refusal): "it can't be opened: \(refusal.rawValue)"
        case .unknownAction: "its action must be once, always, reject or answer"
        case .notOffered: "the event doesn't offer this reply"
        }
    }
}

/// Opens replies, and refuses those that might not come from a paired phone.
struct ReplyOpener: Sendable {
    /// The pairing's keys; empty if there is only a relay secret.
    let keys: [SealedReply.Key]
    /// Whether readable replies are refused, because the relay could have made them up.
    let requiresSealed: Bool
    /// Seals results; `nil` without a pairing key.
    var resultKey: SealedResult.Key?

    /// The answer in a reply to an event.
    ///
    /// - Parameter offer: What the event offered; `nil` if that is checked later.
    func open(
        _ given: GivenReply, to eventID: String, of offer: ReplyOffer?
    ) throws(ReplyRefusal) -> RequestReply {
        let action: String?
        let text: String?
        var answers: [[String]] = []
        if let sealed = given.sealed {
            guard !keys.isEmpty else { throw .noKey }
            do throws(Refusal) {
                let reply = try SealedReply(opening: sealed, for: eventID, with: keys)
                (action, text) = (reply.action, reply.text)
                answers = reply.answers ?? []
            } catch {
                throw .refused(error)
            }
        } else {
            guard !requiresSealed else { throw .readable }
            (action, text) = (given.action, given.text)
        }
        guard let choice = action.flatMap(RequestReply.Choice.init) else { throw .unknownAction }
        // An agent could mistake an empty message for a missing one.
        let message = choice == .reject && text?.contains { !$0.isWhitespace } == true ? text : nil
        let reply = RequestReply(
            choice: choice,
            message: message.map { NotificationText.cut($0, bytes: Bounds.replyTextBytesMax) },
            answers: choice == .answer ? answers : [])
        guard offer?.includes(reply) ?? true else { throw .notOffered }
        return reply
    }
}
