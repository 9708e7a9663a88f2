internal import Foundation
internal import PushSealing

/// What the relay puts into a push for the app.
///
/// The relay sends the payload's members three times: beside `aps`, in `data`, and in `body`, which is all that Expo
/// passes on.
public struct PushPayload: Sendable, Equatable {
    /// The server's ID, as the relay saw it.
    public var serverID: String?
    /// The event's type; a notification has none.
    public var eventType: String?
    /// The session's ID, as the relay saw it.
    public var sessionID: String?
    /// The ID of an event that isn't sealed, for acknowledging it or replying to it; a sealed event contains its ID.
    public var eventID: String?
    /// The replies that the sender accepts, as the relay saw them; any if empty.
    public var actions: [String] = []
    /// The ID of the event whose notification to remove: in a silent push, after another phone acknowledged the event.
    ///
    /// ``removeClearedNotification()`` removes that notification.
    public var clearedEventID: String?
    /// A notification's kind.
    public var kind: String?
    /// The envelope of a sealed notification.
    public var sealed: String?
    /// A registration challenge, with the code to register with.
    public var challenge: Challenge?

    /// A challenge push's content.
    public struct Challenge: Sendable, Equatable {
        /// Identifies the registration that the challenge belongs to.
        public let id: String
        /// The value of ``Registration/challengeCode``.
        public let code: String
    }

    /// The type that the envelope was sealed for.
    public var sealedType: String { eventType ?? kind ?? Envelope.defaultType }

    /// Reads a push's payload: `UNNotificationContent.userInfo`, or only its `data` or `body`.
    public init(_ userInfo: [AnyHashable: Any]) {
        self.init { name in
            let inner = ["data", "body"].lazy.compactMap { userInfo[$0] as? [AnyHashable: Any] }
            return userInfo[name] as? String ?? inner.compactMap { $0[name] as? String }.first
        }
        // The sender's envelope is bound only to the visible members at the top level.
        sealed = userInfo["sealed"] as? String
        kind = userInfo["kind"] as? String
        actions = userInfo["actions"] as? [String] ?? []
        clearedEventID = (userInfo["clear"] as? [AnyHashable: Any])?["eventID"] as? String
        if sealed != nil { eventType = userInfo["eventType"] as? String }
    }

    /// Reads a payload's JSON; `nil` if it isn't an object.
    public init?(json bytes: [UInt8]) {
        guard let json = JSONValue(parsing: bytes), json.isObject else { return nil }
        self.init(json.dictionary)
    }

    private init(_ member: (String) -> String?) {
        serverID = member("serverID")
        eventType = member("eventType")
        sessionID = member("sessionID")
        eventID = member("eventID")
        if let id = member("challengeID"), let code = member("challengeCode") {
            challenge = Challenge(id: id, code: code)
        }
    }
}

extension JSONValue {
    // Strings, lists of strings and objects: the only values that are read from a payload.
    fileprivate var dictionary: [AnyHashable: Any] {
        guard case .object(let members) = self else { return [:] }
        var values: [AnyHashable: Any] = [:]
        for member in members {
            switch member.value {
            case .object: values[member.name] = member.value.dictionary
            case .array(let items): values[member.name] = items.compactMap(\.string)
            default: values[member.name] = member.value.string
            }
        }
        return values
    }
}
