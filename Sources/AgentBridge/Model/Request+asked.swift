import PushSealing

/// How a person can answer an OpenCode request.
extension Request {
    /// The replies that a person can give.
    var offer: ReplyOffer {
        switch kind {
        case .permission: .permission
        case .question, .form:
            questions.isEmpty ? ReplyOffer() : ReplyOffer(actions: [.reject], questions: questions)
        }
    }

    /// The offer against which replies are checked before the server's list is read; `nil` for questions that rang in
    /// an earlier process, because only the list contains them.
    var knownOffer: ReplyOffer? { kind == .permission || !questions.isEmpty ? offer : nil }

    /// The questions as the phone shows them, before they are answered; `nil` if it can't answer them.
    var asked: AskedRequest? {
        guard !questions.isEmpty else { return nil }
        var lines = [RequestText.visible(detail ?? "OpenCode has a question.")]
        if let directory { lines.insert("In " + RequestText.line(directory), at: 0) }
        return AskedRequest(text: lines.joined(separator: "\n"), offer: offer, digest: digest)
    }
}
