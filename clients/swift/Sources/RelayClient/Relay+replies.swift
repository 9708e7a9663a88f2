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

    /// Replies to an event; sealed if the pairing has a key.
    ///
    /// - Parameter eventID: A sealed event's own ``SealedMessage/id``, or ``PushPayload/eventID``.
    /// - Throws: ``RelayError``, with the code `already_replied` if another reply came first.
    public func reply(_ reply: SealedReply, to eventID: String) async throws(RelayError) {
        var members = [secret]
        members.add("eventID", eventID)
        if let key = pairing.key {
            do throws(SealingFailure) {
                members.add("sealed", try reply.sealed(for: eventID, with: SealedReply.Key(key)))
            } catch {
                throw .unsealable(error)
            }
        } else {
            members.add("action", reply.action)
            members.add("text", reply.text)
        }
        _ = try await connection.post("v1/reply", members)
    }

    /// Waits for the reply to an event, for senders, in requests of at most 15 s.
    ///
    /// It can end earlier than asked, for example if the relay restarts; call it again then. Nothing is lost between two
    /// calls.
    ///
    /// - Parameter seconds: How long to wait; 0 only asks what is known.
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

/// What became of an event on the phones.
public struct EventStatus: Sendable, Equatable {
    /// When somebody first saw it or replied; `nil` if nobody has.
    public let acknowledgedAt: Date?
    /// The first reply.
    public let reply: Reply?

    /// A reply to an event.
    public enum Reply: Sendable, Equatable {
        /// A phone of the pairing sealed it.
        case sealed(SealedReply)
        /// The relay could read it, and could have made it up; trust it only for a pairing without a key.
        case readable(action: String?, text: String?)
        /// It can't be opened, so it isn't from a phone of this pairing, or not to this event.
        case refused(Refusal)
    }

    init(_ json: JSONValue, eventID: String, key: PairingSecret?) {
        acknowledgedAt = json.date("acknowledgedAt")
        guard let given = json["reply"], given.isObject else {
            reply = nil
            return
        }
        guard let sealed = given["sealed"]?.string else {
            reply = .readable(action: given["action"]?.string, text: given["text"]?.string)
            return
        }
        do throws(Refusal) {
            let keys = key.map { [SealedReply.Key($0)] } ?? []
            reply = .sealed(try SealedReply(opening: sealed, for: eventID, with: keys))
        } catch {
            reply = .refused(error)
        }
    }
}
