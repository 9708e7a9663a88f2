import JSON

/// The checked arguments of `send_notification`; `schedule_notification` shares some of them.
struct NotificationArguments: Sendable, Equatable {
    /// How much a notification interrupts.
    enum Urgency: String, CaseIterable, Sendable {
        case low, normal, high
    }

    let title: String
    let message: String
    let urgency: Urgency
    let sessionID: String?
    let eventID: String?

    /// What is wrong with the arguments, as a sentence that says how to correct them.
    struct Fault: Error, Equatable {
        let sentence: String
    }

    /// Checks the arguments.
    init(_ arguments: JSON.Object) throws(Fault) {
        for member in arguments.members where !Self.names.contains(member.name) {
            throw Fault(
                sentence: "Unknown argument. The arguments are \(Self.names.joined(separator: ", ")).")
        }
        title = try Self.prose("title", in: arguments)
        message = try Self.prose("message", in: arguments)
        if let value = arguments["urgency"] {
            guard let urgency = value.string.flatMap(Urgency.init(rawValue:)) else {
                throw Fault(sentence: "urgency must be low, normal or high.")
            }
            self.urgency = urgency
        } else {
            urgency = .normal
        }
        sessionID = try Self.word("sessionID", most: Bounds.identifierBytesMax, in: arguments)
        eventID = try Self.word("eventID", most: Bounds.eventIDBytesMax, in: arguments)
    }

    private static let names = ["title", "message", "urgency", "sessionID", "eventID"]

    private static func prose(_ name: String, in arguments: JSON.Object) throws(Fault) -> String {
        guard let text = arguments[name]?.text, !text.isEmpty else {
            throw Fault(sentence: "\(name) is required and must be a string that is not empty.")
        }
        return text
    }

    static func word(_ name: String, most: Int, in arguments: JSON.Object) throws(Fault) -> String? {
        guard let value = arguments[name] else { return nil }
        guard let text = value.string, (1...most).contains(text.utf8.count), !text.utf8.contains(0) else {
            throw Fault(sentence: "\(name) must be a string of 1 to \(most) bytes without NUL.")
        }
        return text
    }

    /// The equivalent `notification` of `/v1/notify`.
    ///
    /// The session is written in the same three places as in an event, so that opening the notification opens the
    /// session.
    var notification: JSON.Object {
        var object = JSON.Object()
        object["title"] = .string(title)
        object["body"] = .string(message)
        switch urgency {
        case .low: object["interruptionLevel"] = "passive"
        case .normal: object["sound"] = "default"
        case .high:
            object["sound"] = "default"
            object["interruptionLevel"] = "time-sensitive"
        }
        if let sessionID {
            let session: JSON.Value = ["sessionID": .string(sessionID)]
            object["threadID"] = .string(sessionID)
            object["data"] = ["sessionID": .string(sessionID), "data": session, "body": session]
        }
        return object
    }

    static let schema: JSON.Value = {
        var properties = contentProperties
        properties["eventID"] = [
            "type": "string", "minLength": 1, "maxLength": .int(Bounds.eventIDBytesMax),
            "description":
                "Makes it safe to repeat the call: within 24 hours the same ID is sent only once",
        ]
        return [
            "type": "object", "properties": .object(properties), "required": ["title", "message"],
            "additionalProperties": false,
        ]
    }()

    /// The schemas of the arguments that describe the notification.
    static let contentProperties: JSON.Object = {
        var properties = JSON.Object()
        properties["title"] = [
            "type": "string", "minLength": 1, "description": "A short title, such as the project's name",
        ]
        properties["message"] = [
            "type": "string", "minLength": 1,
            "description": "One or two sentences that can be read on a lock screen",
        ]
        properties["urgency"] = [
            "type": "string", "enum": ["low", "normal", "high"], "default": "normal",
            "description":
                "low: silent; normal: with sound; high: also through a focus, only for what can't wait",
        ]
        properties["sessionID"] = [
            "type": "string", "minLength": 1, "maxLength": .int(Bounds.identifierBytesMax),
            "description": "The session that opening the notification shows, if you know its ID",
        ]
        return properties
    }()
}
