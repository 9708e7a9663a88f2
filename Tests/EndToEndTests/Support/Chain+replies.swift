import JSON
import PushSealing
import Testing

/// Permissions and questions, and replies to them.
extension Chain {
    /// Makes the agent of `ses_1` ask for a permission and returns the ID of the event that rang for it.
    ///
    /// - Parameter number: The number of pushes that the phone has received by then, including this one.
    func asks(
        _ request: String, number: Int, command: String = "git push", key: PairingSecret? = nil
    ) async throws -> String {
        try await does(
            "ask", ["id": "ses_1", "request": .string(request), "command": .string(command)])
        #expect(try await titles(atLeast: number).count == number)
        return try await event(key: key)
    }

    /// Makes the agent of `ses_1` ask a question, or the given ones, and returns what the phone reads.
    ///
    /// - Parameter number: The number of pushes that the phone has received by then, except those that only clear.
    func asksQuestions(
        _ request: String, _ asked: JSON.Value? = nil, number: Int, key: PairingSecret
    ) async throws -> SealedMessage {
        let asks: JSON.Value = asked ?? .null
        try await does("ask", ["id": "ses_1", "request": .string(request), "question": true, "asks": asks])
        let pushes = try await eventually {
            try await stack.control.pushes(token: token(1)).compactMap { $0["payload"] }.filter {
                $0["clear"] == nil
            }
        } until: {
            $0.count >= number
        }
        #expect(pushes.count == number)
        let sealed = try #require(pushes.last?["sealed"]?.string)
        return try Envelope.open(sealed, type: "permission", with: [key.notificationKey])
    }

    /// The ID of the last event that rang.
    func event(key: PairingSecret?) async throws -> String {
        let payloads = try await stack.control.pushes(token: token(1)).compactMap { $0["payload"] }
        return try Self.eventID(of: try #require(payloads.last { $0["clear"] == nil }), key: key)
    }

    /// Replies to an event as the phone would.
    func replies(_ reply: JSON.Value, to eventID: String) async throws -> JSON.Value {
        try await post("/v1/reply", reply, eventID)
    }

    func post(
        _ path: String, _ members: JSON.Value, _ eventID: String
    ) async throws -> JSON.Value {
        var body = members.object ?? JSON.Object()
        body["secret"] = .string(phoneSecret)
        body["eventID"] = .string(eventID)
        return try await stack.http.post(path, body).json()
    }

    /// The events that rang, by session.
    func events(key: PairingSecret?) async throws -> [String: String] {
        var events: [String: String] = [:]
        for push in try await stack.control.pushes(token: token(1)).compactMap({ $0["payload"] }) {
            let session = try #require(push["sessionID"]?.string)
            events[session] = try Self.eventID(of: push, key: key)
        }
        return events
    }

    private static func eventID(of push: JSON.Value, key: PairingSecret?) throws -> String {
        guard let key else { return try #require(push["body"]?["eventID"]?.string) }
        #expect(push["eventID"] == nil)
        let sealed = try #require(push["sealed"]?.string)
        return try Envelope.open(sealed, type: "permission", with: [key.notificationKey]).id
    }

    /// Waits until the relay knows that no reply is needed any more, and returns what the bridge would receive then.
    ///
    /// A reply sent earlier would only find that the request is gone from the server, whatever ended it.
    @discardableResult
    func closed(_ eventID: String) async throws -> JSON.Value {
        try await eventually {
            try await post("/v1/reply/wait", ["timeout": 0], eventID)
        } until: {
            $0["acknowledgedAt"] != nil
        }
    }

    /// Sends a reply as the phone does, repeatedly if necessary, and waits for its result.
    func result(_ reply: JSON.Value, to eventID: String) async throws -> JSON.Value {
        var members = reply.object ?? JSON.Object()
        members["timeout"] = 30
        return try #require(try await replies(.object(members), to: eventID)["result"])
    }

    /// The result of a reply as the phone reads it: the outcome and the reason, if any.
    func fate(
        of event: String?, key: PairingSecret?, reply: SealedReply = SealedReply(action: "once", sentAt: 1)
    ) async throws -> String {
        let eventID = try #require(event)
        let sealed = try key.map { try reply.sealed(for: eventID, with: SealedReply.Key($0)) }
        let result = try await result(
            sealed.map { ["sealed": .string($0)] } ?? ["action": "once"], to: eventID)
        let (outcome, reason) = try Self.outcome(result, of: sealed, to: eventID, key: key)
        return reason.map { "\(outcome) \($0)" } ?? outcome
    }

    private static func outcome(
        _ result: JSON.Value, of reply: String?, to eventID: String, key: PairingSecret?
    ) throws -> (outcome: String, reason: String?) {
        guard let key else { return (try #require(result["outcome"]?.string), result["reason"]?.string) }
        #expect(result["outcome"] == nil && result["reason"] == nil)
        let opened = try SealedResult(
            opening: try #require(result["sealed"]?.string), for: eventID, ofReply: reply,
            with: [SealedResult.Key(key)])
        return (opened.outcome.rawValue, opened.reason)
    }

    /// The outcomes that the history shows, by event.
    func outcomesInHistory(key: PairingSecret?) async throws -> [String: String] {
        var body = JSON.Object()
        body["secret"] = .string(phoneSecret)
        let page = try await stack.http.post("/v1/history/list", body).json()
        var outcomes: [String: String] = [:]
        for item in page["items"]?.array ?? [] {
            let eventID = try #require(item["eventID"]?.string)
            guard let result = item["result"] else { continue }
            outcomes[eventID] = try Self.outcome(result, of: nil, to: eventID, key: key).outcome
        }
        return outcomes
    }

    /// The replies that the server received, once there are at least `count`.
    func given(atLeast count: Int) async throws -> [JSON.Value] {
        try await eventually {
            try await does("replies")["replies"]?.array ?? []
        } until: {
            $0.count >= count
        }
    }
}
