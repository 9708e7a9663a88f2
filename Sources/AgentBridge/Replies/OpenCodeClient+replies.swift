import JSON
import Network
import WebClient

extension OpenCodeClient {
    /// The result of an answer to a request.
    enum Answered: Sendable, Equatable {
        case taken
        /// The request has already been answered or withdrawn.
        case notListed
        /// The server now uses the request's ID for a different request.
        case changed
        /// The request doesn't offer this reply.
        case notOffered
        /// An answer isn't a value that a form accepts.
        case invalid

        /// The fate of the reply.
        ///
        /// - Parameter isUnconfirmed: Whether the response to an earlier attempt was lost.
        func fate(isUnconfirmed: Bool) -> ReplyFate {
            switch self {
            case .taken: .taken
            case .notListed where isUnconfirmed: ReplyFate.answeredElsewhere.unconfirmed
            case .notListed: .answeredElsewhere
            case .changed: .refused("changed")
            case .notOffered: .refused("not_offered")
            case .invalid: .refused("invalid_answer")
            }
        }

        /// The rest of the log message about the reply.
        func sentence(_ choice: RequestReply.Choice) -> String {
            switch self {
            case .taken: ": \(choice.rawValue)"
            case .notListed: " came too late"
            case .changed: " was ignored: OpenCode has reused this ID for a different request"
            case .notOffered: " was ignored: the request doesn't offer it"
            case .invalid: " was ignored: OpenCode's form doesn't accept one of the answers"
            }
        }
    }

    /// Answers a request if the server still lists it with the same content.
    ///
    /// If the server can't produce the list, its last event about the request counts. Repeating the call is safe: an
    /// answered request is no longer listed, and the server no longer knows it.
    func answer(_ request: Request, _ reply: RequestReply) async throws(ServerError) -> Answered {
        // Only the list contains the questions of a request that rang in an earlier process.
        var request = request
        do throws(ServerError) {
            guard let listed = try await openRequests(like: request, request.directory)[request.id] else {
                return .notListed
            }
            guard listed.asksSame(as: request) else { return .changed }
            (request.questions, request.fields) = (listed.questions, listed.fields)
        } catch {
            guard error.isRefusal else { throw error }
        }
        guard request.offer.includes(reply) else { return .notOffered }
        let answer: WebAnswer
        switch (request.kind, request.api ?? generation) {
        case (.permission, _): answer = try await decide(request, reply)
        case (_, .first): answer = try await answerQuestions(request, reply)
        case (_, .second):
            guard let given = try await answerForm(request, reply) else { return .invalid }
            answer = given
        }
        switch answer.status {
        case 200..<300 where !answer.isPage: return .taken
        case 404, 410: return .notListed
        // Another attempt would fail in the same way.
        case 400 where reply.choice == .answer: return .invalid
        case 409 where request.kind != .permission: return .notListed
        case 401, 403: throw .unauthorized
        default: throw .status(answer.status)
        }
    }

    private func decide(_ request: Request, _ reply: RequestReply) async throws(ServerError) -> WebAnswer {
        let id = WebAddress.encoded(request.id)
        switch request.api ?? generation {
        case .first:
            return try await post(
                "/permission/\(id)/reply", Self.directoryQuery(request.directory), reply.body())
        case .second:
            // Releases of 2.x require the choice under its later name, previews and 1.18 under its earlier
            // one.
            return try await post(
                "\(second(request.session))/permission/\(id)/reply", [],
                reply.body(withDecision: generation == .second))
        }
    }

    /// Answers or rejects questions of 1.x.
    private func answerQuestions(
        _ request: Request, _ reply: RequestReply
    ) async throws(ServerError) -> WebAnswer {
        let path = "/question/" + WebAddress.encoded(request.id)
        let query = Self.directoryQuery(request.directory)
        guard reply.choice == .answer else { return try await post(path + "/reject", query, Self.noMembers) }
        let answers = JSON.Value.array(reply.answers.map { .array($0.map { .string($0) }) })
        return try await post(path + "/reply", query, (["answers": answers] as JSON.Value).encoded())
    }

    /// Answers or cancels a 2.x form; `nil` if a field doesn't accept its answer.
    private func answerForm(
        _ request: Request, _ reply: RequestReply
    ) async throws(ServerError) -> WebAnswer? {
        let path = "\(second(request.session))/form/" + WebAddress.encoded(request.id)
        guard reply.choice == .answer else {
            let answer = try await delete(path, reply.message.map { [("message", $0)] } ?? [])
            guard [404, 405].contains(answer.status) || answer.isPage else { return answer }
            // Previews of 2.x use a different route, which takes no message.
            let earlier = try await post(path + "/cancel", [], Self.noMembers)
            return earlier.isPage ? answer : earlier
        }
        var values = JSON.Object()
        for (field, answers) in zip(request.fields, reply.answers) where !answers.isEmpty {
            guard let value = field.value(answers) else { return nil }
            values[field.key] = value
        }
        return try await post(path + "/reply", [], (["answer": .object(values)] as JSON.Value).encoded())
    }

    private static let noMembers = Array("{}".utf8)
}

extension WebAnswer {
    /// Whether the response is the web page that 2.x returns for unknown paths.
    fileprivate var isPage: Bool { isOfType("text/html") }
}

extension RequestReply {
    /// The request's body.
    ///
    /// - Parameter withDecision: Whether to also give the choice under its later name.
    fileprivate func body(withDecision: Bool = false) -> [UInt8] {
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("reply", choice.rawValue)
        if withDecision { writer.member("decision", choice.rawValue) }
        if let message { writer.member("message", message) }
        writer.endObject()
        return writer.finish()
    }
}
