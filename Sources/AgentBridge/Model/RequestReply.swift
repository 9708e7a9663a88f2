import PushSealing

/// A person's answer to a request.
struct RequestReply: Sendable, Equatable {
    /// The possible actions of a reply, by name.
    enum Choice: String, Sendable, CaseIterable {
        /// Allow the request this time, or from now on.
        case once, always
        /// Refuse a permission, or cancel questions.
        case reject
        /// Answer questions.
        case answer
    }

    let choice: Choice
    /// What to tell the agent about a rejection.
    var message: String?
    /// The answers to each question.
    var answers: [[String]] = []
}

/// The replies that a person can give to an event.
struct ReplyOffer: Sendable, Equatable {
    /// The event's actions, which phones show as buttons.
    var actions: [RequestReply.Choice] = []
    /// The questions that the phone can answer.
    var questions: [SealedMessage.Question] = []

    /// The possible replies to a permission.
    static let permission = ReplyOffer(actions: [.once, .always, .reject])

    /// The names of the actions in events; `answer` isn't among them.
    var names: [String] { actions.map(\.rawValue) }

    /// Whether the offer includes a reply.
    func includes(_ reply: RequestReply) -> Bool {
        guard reply.choice == .answer else { return actions.contains(reply.choice) }
        guard !questions.isEmpty, questions.count == reply.answers.count else { return false }
        return zip(questions, reply.answers).allSatisfy { $0.accepts($1) }
    }
}

extension SealedMessage.Question {
    /// Whether a person can give these answers: labels of different options, then at most one text of their own.
    func accepts(_ answers: [String]) -> Bool {
        guard !answers.isEmpty else { return isOptional }
        guard isMultiple || answers.count == 1 else { return false }
        let labels = Set(options.map { Array($0.label.utf8) })
        let given = answers.map { Array($0.utf8) }
        guard Set(given).count == given.count else { return false }
        return given.indices.allSatisfy { index in
            if labels.contains(given[index]) { return true }
            return allowsText && index == given.count - 1 && answers[index].contains { !$0.isWhitespace }
        }
    }
}

/// A request's full text, and the replies that a person can give to it.
struct AskedRequest: Sendable, Equatable {
    let text: String
    let offer: ReplyOffer
    /// The SHA-256 of what is asked.
    let digest: String
}
