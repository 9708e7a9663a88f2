import JSON
import Network
import PushSealing
import WebClient

extension RelayClient {
    /// The relay's information about a reply.
    enum Wait: Sendable, Equatable {
        case replied(GivenReply)
        /// Nobody has replied yet.
        case nothing
        /// The relay can't answer now, for this reason; it may say how long to wait.
        case later(String, Duration)
    }

    /// Waits about half a minute for the reply to an event.
    ///
    /// - Parameter deadline: The request's timeout, if not the client's own.
    func waitForReply(to eventID: String, deadline: Duration? = nil) async -> Wait {
        let body = Self.body(secret, eventID, waiting: Bounds.replyWaitSeconds)
        guard let answer = await post("/v1/reply/wait", body, about: eventID, deadline: deadline) else {
            return .later("no relay answers", .zero)
        }
        let value = try? JSON.parse(answer.body, maxBytes: Bounds.postAnswerBytesMax)
        guard answer.status == 200, let value, value["ok"]?.bool == true else {
            // The relay also refuses while the event is still in the queue or no phone is registered.
            let reason = value?["error"]?.string.map(Console.safe) ?? "status \(answer.status)"
            return .later(reason, answer.pause)
        }
        guard let reply = value["reply"] else { return .nothing }
        return .replied(
            GivenReply(
                action: reply["action"]?.string, text: reply["text"]?.text, sealed: reply["sealed"]?.string))
    }

    /// Records that an event no longer needs a reply, and has the phones remove its notification; false if the relay
    /// can't do so now, for instance because the event is still in the queue.
    func acknowledge(_ eventID: String) async -> Bool {
        switch await send("/v1/ack", Self.body(secret, eventID, clears: true), about: eventID) {
        case .accepted, .refused: true
        case .later, .unreachable: false
        }
    }

    /// The relay's response to a result.
    enum Reported: Sendable, Equatable {
        /// The relay stores this result, or already has an earlier one.
        case done
        /// The relay is too old to accept results.
        case unsupported
        /// The relay will never accept the result, for this reason.
        case refused(String)
        /// The relay can't accept the result now, for this reason; it may say how long to wait.
        case later(String, Duration)
    }

    /// Reports the result of the reply to an event; repeating it is harmless.
    func report(_ result: GivenResult, of eventID: String) async -> Reported {
        let body = Self.body(secret, eventID, result: result)
        guard let answer = await post("/v1/reply/result", body, about: eventID) else {
            return .later("no relay answers", .zero)
        }
        return Self.reported(answer)
    }

    /// The meaning of a response to a result.
    static func reported(_ answer: WebAnswer) -> Reported {
        let value = try? JSON.parse(answer.body, maxBytes: Bounds.postAnswerBytesMax)
        if answer.status == 404, value?["code"]?.string == "not_found" { return .unsupported }
        switch interpret(answer) {
        case .accepted: return .done
        case .refused(let reason), .unreachable(let reason): return .refused(reason)
        case .later(let reason, let pause): return .later(reason, pause)
        }
    }

    /// The body of a request about an event.
    static func body(
        _ secret: String, _ eventID: String, waiting seconds: Int? = nil, clears: Bool = false,
        result: GivenResult? = nil
    ) -> [UInt8] {
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("secret", secret)
        writer.member("eventID", eventID)
        if let seconds { writer.member("timeout", seconds) }
        if clears { writer.member("clear", true) }
        switch result {
        case .readable(let fate):
            writer.member("outcome", fate.outcome.rawValue)
            if let reason = fate.reason { writer.member("reason", reason) }
        case .sealed(let text): writer.member("sealed", text)
        case nil: break
        }
        writer.endObject()
        return writer.finish()
    }

    private func post(
        _ path: String, _ body: [UInt8], about eventID: String, deadline: Duration? = nil
    ) async -> WebAnswer? {
        try? await ask(path, body, about: eventID, deadline: deadline)
    }
}
