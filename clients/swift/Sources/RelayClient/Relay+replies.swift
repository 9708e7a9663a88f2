public import Foundation
public import PushSealing

/// Acknowledgements and replies (docs/reference/api.md).
extension Relay {
    /// The maximum number of seconds for which one request waits for a reply: less than a transport's timeout.
    static let waitSecondsMax = 15

    /// Tells the sender of an event that somebody has seen it.
    ///
    /// - Parameter clear: Whether the pairing's other phones remove the notification; see
    ///   ``PushPayload/clearedEventID``.
    public func acknowledge(_ eventID: String, clear: Bool = false) async throws(RelayError) {
        var members = [secret]
        members.add("eventID", eventID)
        if clear { members.append(JSONValue.Member("clear", .bool(true))) }
        _ = try await connection.post("v1/ack", members)
    }

    /// Replies to an event; the reply is sealed if the pairing has a key.
    ///
    /// - Parameter eventID: A sealed event's own ``SealedMessage/id``, or ``PushPayload/eventID``.
    /// - Returns: What was sent; pass it to ``result(of:seconds:)`` to get the result.
    /// - Throws: ``RelayError``, with the code `already_replied` if another reply came first.
    @discardableResult
    public func reply(_ reply: SealedReply, to eventID: String) async throws(RelayError) -> SentReply {
        var sealed: String?
        if let key = pairing.key {
            do throws(SealingFailure) {
                sealed = try reply.sealed(for: eventID, with: SealedReply.Key(key))
            } catch {
                throw .unsealable(error)
            }
        }
        let sent = SentReply(
            eventID: eventID, action: sealed == nil ? reply.action : nil,
            text: sealed == nil ? reply.text : nil, sealed: sealed)
        _ = try await connection.post("v1/reply", [secret] + sent.members)
        return sent
    }

    /// Waits for the sender to report the result of a reply, in requests that last at most 15 s each.
    ///
    /// - Parameter seconds: How long to wait; 0 returns only what is already known.
    /// - Returns: `nil` if nothing is known yet.
    public func result(of sent: SentReply, seconds: Int = 25) async throws(RelayError) -> ReplyResult? {
        var left = max(0, seconds)
        while true {
            let timeout = min(left, Self.waitSecondsMax)
            let members = [secret] + sent.members + [JSONValue.Member("timeout", .integer(timeout))]
            let (_, body) = try await connection.post("v1/reply", members)
            left -= timeout
            let result = ReplyResult(
                body["result"], eventID: sent.eventID, reply: sent.sealed, key: pairing.key)
            if result != nil || left <= 0 { return result }
        }
    }

    /// For senders: reports the result of the reply to an event, sealed if the pairing has a key.
    ///
    /// The relay keeps the first result.
    public func report(_ result: SealedResult, of eventID: String) async throws(RelayError) {
        var members = [secret]
        members.add("eventID", eventID)
        if let key = pairing.key {
            do throws(SealingFailure) {
                members.add("sealed", try result.sealed(for: eventID, with: SealedResult.Key(key)))
            } catch {
                throw .unsealable(error)
            }
        } else {
            members.add("outcome", result.outcome.rawValue)
            members.add("reason", result.reason)
        }
        _ = try await connection.post("v1/reply/result", members)
    }

    /// For senders: waits for the reply to an event, in requests that last at most 15 s each.
    ///
    /// The wait can end earlier than requested, for example if the relay restarts; if so, call this again. No reply is
    /// lost between two calls.
    ///
    /// - Parameter seconds: How long to wait; 0 returns only what is already known.
    public func waitForReply(
        to eventID: String, seconds: Int = 25
    ) async throws(RelayError) -> EventStatus {
        var left = max(0, seconds)
        while true {
            let timeout = min(left, Self.waitSecondsMax)
            var members = [secret]
            members.add("eventID", eventID)
            members.append(JSONValue.Member("timeout", .integer(timeout)))
            let (_, body) = try await connection.post("v1/reply/wait", members)
            let status = EventStatus(body, eventID: eventID, key: pairing.key)
            left -= timeout
            if status.reply != nil || left <= 0 { return status }
        }
    }
}

/// A reply as it was sent; keep it to be able to ask for its result after the app restarts.
public struct SentReply: Sendable, Equatable, Codable {
    /// The event's ID.
    public let eventID: String
    /// The chosen action, if the reply isn't sealed.
    public let action: String?
    /// The typed text, if the reply isn't sealed.
    public let text: String?
    /// The sealed reply.
    public let sealed: String?

    fileprivate var members: [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        members.add("eventID", eventID)
        members.add("action", action)
        members.add("text", text)
        members.add("sealed", sealed)
        return members
    }
}

/// The result of a reply.
public enum ReplyResult: Sendable, Equatable {
    /// The event's sender sealed the result, for this phone's reply if this phone sent one.
    case sealed(SealedResult)
    /// The relay could read the result, and could have made it up; trust it only for a pairing without a key.
    case readable(outcome: ReplyOutcome, reason: String?)
    /// The result can't be opened, so it isn't from the event's sender or isn't about this phone's reply.
    case refused(Refusal)

    /// Reads a result; `nil` if there is none.
    ///
    /// - Parameter reply: The sealed reply that this phone sent, if any.
    init?(_ json: JSONValue?, eventID: String?, reply: String?, key: PairingSecret?) {
        guard let json, json.isObject else { return nil }
        guard let sealed = json["sealed"]?.string else {
            guard let outcome = json["outcome"]?.string else { return nil }
            self = .readable(outcome: ReplyOutcome(rawValue: outcome), reason: json["reason"]?.string)
            return
        }
        do throws(Refusal) {
            let keys = key.map { [SealedResult.Key($0)] } ?? []
            self = .sealed(
                try SealedResult(opening: sealed, for: eventID ?? "", ofReply: reply, with: keys))
        } catch {
            self = .refused(error)
        }
    }
}

/// An event's acknowledgement and reply.
public struct EventStatus: Sendable, Equatable {
    /// When somebody first saw the event or replied; `nil` if nobody has.
    public let acknowledgedAt: Date?
    /// The first reply.
    public let reply: Reply?

    /// A reply to an event.
    public enum Reply: Sendable, Equatable {
        /// A phone of the pairing sealed the reply.
        case sealed(SealedReply)
        /// The relay could read the reply, and could have made it up; trust it only for a pairing without a key.
        case readable(action: String?, text: String?)
        /// The reply can't be opened, so it isn't from a phone of this pairing or isn't to this event.
        case refused(Refusal)
    }

    init(_ json: JSONValue, eventID: String, key: PairingSecret?) {
        acknowledgedAt = json.date("acknowledgedAt")
        guard let given = json["reply"], given.isObject else {
            reply = nil
            return
        }
        reply = Reply(given, eventID: eventID, key: key)
    }
}

extension EventStatus.Reply {
    init(_ json: JSONValue, eventID: String, key: PairingSecret?) {
        guard let sealed = json["sealed"]?.string else {
            self = .readable(action: json["action"]?.string, text: json["text"]?.string)
            return
        }
        do throws(Refusal) {
            let keys = key.map { [SealedReply.Key($0)] } ?? []
            self = .sealed(try SealedReply(opening: sealed, for: eventID, with: keys))
        } catch {
            self = .refused(error)
        }
    }
}
