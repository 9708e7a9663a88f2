import JSON
import Network
import WebClient

extension OpenCodeClient {
    /// The result of an answer to a permission.
    enum Answered: Sendable, Equatable {
        case taken
        /// The permission was answered or withdrawn before.
        case notListed
        /// The server asks something else under the permission's ID.
        case changed

        /// Its meaning for the reply.
        ///
        /// - Parameter isUnconfirmed: Whether the answer to an earlier attempt was lost.
        func fate(isUnconfirmed: Bool) -> ReplyFate {
            switch self {
            case .taken: .taken
            case .notListed where isUnconfirmed: ReplyFate.answeredElsewhere.unconfirmed
            case .notListed: .answeredElsewhere
            case .changed: .refused("changed")
            }
        }

        /// The rest of the log's sentence about the reply.
        func sentence(_ choice: RequestReply.Choice) -> String {
            switch self {
            case .taken: ": \(choice.rawValue)"
            case .notListed: " came too late"
            case .changed: " isn't used: OpenCode asks something else under this ID now"
            }
        }
    }

    /// Answers a permission if the server still lists it, and with what was asked.
    ///
    /// Where the server can't make the list, its last event about the permission counts. Repeating the call is safe: a
    /// permission that has been answered isn't listed any more, and unknown to the server.
    func answer(_ request: Request, _ reply: RequestReply) async throws(ServerError) -> Answered {
        do throws(ServerError) {
            guard let listed = try await openRequests(like: request, request.directory)[request.id] else {
                return .notListed
            }
            guard listed.asksSame(as: request) else { return .changed }
        } catch {
            guard error.isRefusal else { throw error }
        }
        let id = WebAddress.encoded(request.id)
        let answer: WebAnswer
        switch request.api ?? generation {
        case .first:
            answer = try await post(
                "/permission/\(id)/reply", Self.directoryQuery(request.directory), reply.body())
        case .second:
            // Releases of 2.x require the choice under its later name, previews and 1.18 under its earlier
            // one.
            answer = try await post(
                "\(second(request.session))/permission/\(id)/reply", [],
                reply.body(withDecision: generation == .second))
        }
        switch answer.status {
        case 200..<300: return .taken
        case 404, 410: return .notListed
        case 401, 403: throw .unauthorized
        default: throw .status(answer.status)
        }
    }
}

extension RequestReply {
    /// The request's body.
    ///
    /// - Parameter withDecision: Whether the choice is given under its later name, too.
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
