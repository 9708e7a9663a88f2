public import Foundation
import PushSealing

extension Relay {
    /// For senders: the outcomes of everything sent under the pairing's secret, oldest first.
    ///
    /// If there are none yet, waits for the first one, in requests that last at most 15 s each.
    ///
    /// - Parameters:
    ///   - cursor: The previous page's ``OutcomePage/cursor``.
    ///   - seconds: How long to wait; 0 returns only what is already known.
    public func outcomes(
        after cursor: String? = nil, limit: Int? = nil, seconds: Int = 0
    ) async throws(RelayError) -> OutcomePage {
        var left = max(0, seconds)
        var page = OutcomePage(cursor: cursor ?? "")
        while true {
            let timeout = min(left, Self.waitSecondsMax)
            var members = [secret]
            members.add("cursor", page.cursor.isEmpty ? nil : page.cursor)
            if let limit { members.append(JSONValue.Member("limit", .integer(limit))) }
            members.append(JSONValue.Member("timeout", .integer(timeout)))
            page = OutcomePage(try await connection.post("v1/outcomes", members).body, key: pairing.key)
            left -= timeout
            if !page.outcomes.isEmpty || left <= 0 { return page }
        }
    }
}

/// A page of the outcomes of everything sent under a secret, oldest first.
public struct OutcomePage: Sendable, Equatable {
    /// The outcomes, which are at least a few seconds old.
    public let outcomes: [Outcome]
    /// The cursor for the next page.
    public let cursor: String

    /// One outcome of something that was sent.
    public struct Outcome: Sendable, Equatable {
        /// When it happened.
        public let at: Date?
        /// What happened.
        public let content: Content
    }

    /// What happened.
    public enum Content: Sendable, Equatable {
        /// A push ended: the push service accepted it, or it failed for a reason.
        ///
        /// `eventID` is the ID for acknowledging the event, if it has one. `apnsID` is the ID in the response to the
        /// event. `device` is the end of the device's token, absent if the device is no longer registered.
        case push(eventID: String?, apnsID: String?, device: String?, failure: String?)
        /// Somebody has seen the event, or it is over.
        case acknowledgement(eventID: String)
        /// Somebody replied to the event.
        case reply(EventStatus.Reply, eventID: String)
        /// Something that this version of the library doesn't know.
        case other(type: String)
    }

    init(cursor: String) {
        outcomes = []
        self.cursor = cursor
    }

    init(_ json: JSONValue, key: PairingSecret?) {
        outcomes = (json["outcomes"]?.array ?? []).map { outcome in
            let type = outcome["type"]?.string ?? ""
            let eventID = outcome["eventID"]?.string ?? ""
            let content: Content =
                switch type {
                case "push":
                    .push(
                        eventID: outcome["eventID"]?.string, apnsID: outcome["apnsID"]?.string,
                        device: outcome["device"]?.string,
                        failure: outcome["status"]?.string == "failed" ? outcome["reason"]?.string ?? "" : nil
                    )
                case "acknowledgement": .acknowledgement(eventID: eventID)
                case "reply": .reply(EventStatus.Reply(outcome, eventID: eventID, key: key), eventID: eventID)
                default: .other(type: type)
                }
            return Outcome(at: outcome.date("at"), content: content)
        }
        cursor = json["cursor"]?.string ?? ""
    }
}
