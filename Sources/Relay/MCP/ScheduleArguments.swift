import JSON
import Storage

/// The arguments of `schedule_notification`: a notification and when to send it.
struct ScheduleArguments: Sendable, Equatable {
    let notification: NotificationArguments
    /// The given members of `/v1/schedule/create`, which checks them.
    private let schedule: JSON.Object

    private static let names = ["at", "in", "every", "name"]

    /// Checks the notification's arguments, and that exactly one time is given.
    init(_ arguments: JSON.Object) throws(NotificationArguments.Fault) {
        let contentNames = NotificationArguments.contentProperties.members.map(\.name)
        var content = JSON.Object()
        var schedule = JSON.Object()
        for member in arguments.members {
            if contentNames.contains(member.name) {
                content[member.name] = member.value
            } else if Self.names.contains(member.name) {
                schedule[member.name] = member.value
            } else {
                let names = (contentNames + Self.names).joined(separator: ", ")
                throw NotificationArguments.Fault(
                    sentence: "Unknown argument. The arguments are \(names).")
            }
        }
        guard ["at", "in", "every"].count(where: { schedule[$0] != nil }) == 1 else {
            throw NotificationArguments.Fault(sentence: "Pass exactly one of at, in and every.")
        }
        notification = try NotificationArguments(content)
        self.schedule = schedule
    }

    /// The arguments as the body of a request to `/v1/schedule/create`.
    var request: JSON.Object {
        var request = schedule
        request["notification"] = .object(notification.notification)
        return request
    }

    static let schema: JSON.Value = {
        var properties = NotificationArguments.contentProperties
        properties["at"] = [
            "type": "string", "description": "When to send it, such as 2027-03-28T08:00:00+02:00",
        ]
        properties["in"] = [
            "type": "integer", "minimum": 1, "maximum": .int(Bounds.scheduleSecondsMax),
            "description": "Seconds until it is sent",
        ]
        properties["every"] = every
        properties["name"] = [
            "type": "string", "minLength": 1, "maxLength": .int(Bounds.scheduleNameBytesMax),
            "description": "A name by which it can be cancelled; one with the same name is replaced",
        ]
        return [
            "type": "object", "properties": .object(properties), "required": ["title", "message"],
            "additionalProperties": false,
        ]
    }()

    private static let every: JSON.Value = [
        "type": "object",
        "description": "Sends it repeatedly. Pass exactly one of at, in and every",
        "properties": [
            "unit": ["type": "string", "enum": ["hour", "day", "week", "month"]],
            "interval": [
                "type": "integer", "minimum": 1, "default": 1, "description": "2 is every other unit",
            ],
            "at": [
                "type": "array", "items": ["type": "string"], "maxItems": .int(Bounds.scheduleTimesMax),
                "description": "Times of day such as 08:00; required unless the unit is hour",
            ],
            "on": [
                "type": "array", "items": ["type": ["string", "integer"]],
                "description":
                    "For weeks the days mon to sun; for months the days 1 to 31, and -1 for the last",
            ],
            "timeZone": [
                "type": "string",
                "description":
                    "A name such as Europe/Berlin, or device for each phone's own; required unless the unit is hour",
            ],
            "until": ["type": "string", "description": "The end, such as 2027-12-31T23:59:59Z"],
        ],
        "required": ["unit"],
        "additionalProperties": false,
    ]
}

/// The arguments of `cancel_scheduled`.
struct CancelArguments: Sendable, Equatable {
    let reference: ScheduleReference

    /// Checks that there is exactly one ID or one name, and nothing else.
    init(_ arguments: JSON.Object) throws(NotificationArguments.Fault) {
        guard arguments.members.count == 1, let member = arguments.members.first,
            let text = member.value.string
        else { throw Self.fault }
        switch member.name {
        case "id":
            guard let id = UUIDv7(text) else {
                throw NotificationArguments.Fault(
                    sentence: "id must be one that schedule_notification or list_scheduled returned.")
            }
            reference = .id(id)
        case "name":
            guard (1...Bounds.scheduleNameBytesMax).contains(text.utf8.count), !text.utf8.contains(0) else {
                throw NotificationArguments.Fault(
                    sentence:
                        "name must be a string of 1 to \(Bounds.scheduleNameBytesMax) bytes without NUL.")
            }
            reference = .name(text)
        default: throw Self.fault
        }
    }

    private static let fault = NotificationArguments.Fault(sentence: "Pass either id or name, as a string.")

    static let schema: JSON.Value = [
        "type": "object",
        "properties": [
            "id": ["type": "string", "description": "The ID that scheduling or listing returned"],
            "name": ["type": "string", "description": "The name that it was given; pass either id or name"],
        ],
        "additionalProperties": false,
    ]
}

extension MCPTool {
    static let scheduled: JSON.Value = [
        "type": "object",
        "properties": ["id": text, "name": text, "nextAt": time],
        "required": ["id", "nextAt"],
    ]

    static let schedules: JSON.Value = [
        "type": "object",
        "properties": ["schedules": ["type": "array", "items": schedule]],
        "required": ["schedules"],
    ]

    static let cancelled: JSON.Value = [
        "type": "object", "properties": ["cancelled": count], "required": ["cancelled"],
    ]

    private static let time: JSON.Value = ["type": "string", "format": "date-time"]

    private static let schedule: JSON.Value = [
        "type": "object",
        "properties": [
            "id": text, "name": text, "createdAt": time, "nextAt": time, "every": ["type": "object"],
            "lastAt": time,
            "lastOutcome": ["type": "string", "description": "The outcome of the last one, in one word"],
            "skipped": count,
        ],
        "required": ["id", "createdAt", "nextAt", "skipped"],
    ]
}
