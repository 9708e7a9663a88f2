import JSON

/// The tools that agents can call.
enum MCPTool: String, CaseIterable, Sendable {
    case sendNotification = "send_notification"
    case askUser = "ask_user"
    case listDevices = "list_devices"
    case scheduleNotification = "schedule_notification"
    case listScheduled = "list_scheduled"
    case cancelScheduled = "cancel_scheduled"

    /// All tools, as `tools/list` shows them.
    static let definitions = JSON.Value.array(allCases.map(\.definition))

    /// The definition: what the tool does, its arguments and its result.
    var definition: JSON.Value {
        [
            "name": .string(rawValue),
            "title": title,
            "description": description,
            "inputSchema": inputSchema,
            "outputSchema": outputSchema,
            "annotations": annotations,
        ]
    }

    private var title: JSON.Value {
        switch self {
        case .sendNotification: "Send a push notification"
        case .askUser: "Ask the user and wait for the answer"
        case .listDevices: "List the user's devices"
        case .scheduleNotification: "Schedule a push notification"
        case .listScheduled: "List the scheduled notifications"
        case .cancelScheduled: "Cancel a scheduled notification"
        }
    }

    private var description: JSON.Value {
        switch self {
        case .sendNotification:
            """
            Sends a push notification to all of the user's phones. Use it when the user asked to be notified, when a long \
            task is done, or when you can't go on without them. The result shows for each device whether Apple's push \
            service accepted it.
            """
        case .askUser:
            """
            Asks the user a question on all of their phones and waits for one of the choices. Use it when you can't go on \
            without a decision and the user isn't at the computer. A call waits at most 45 s: while the status is waiting, \
            call it again with the same arguments and the questionID. Asking something else ends the session's open question.
            """
        case .listDevices:
            "Lists the devices that notifications go to, each with the result of the last push to it."
        case .scheduleNotification:
            """
            Sends a push notification to all of the user's phones later: once at a time, once after a delay, or repeatedly. \
            It is sent even if you no longer run then. Use it for reminders that the user asked for.
            """
        case .listScheduled:
            "Lists what is scheduled: IDs, names and times, without the texts."
        case .cancelScheduled:
            "Cancels a scheduled notification by its ID or its name."
        }
    }

    var inputSchema: JSON.Value {
        switch self {
        case .sendNotification: NotificationArguments.schema
        case .askUser: QuestionArguments.schema
        case .listDevices, .listScheduled:
            ["type": "object", "properties": [:], "additionalProperties": false]
        case .scheduleNotification: ScheduleArguments.schema
        case .cancelScheduled: CancelArguments.schema
        }
    }

    private var outputSchema: JSON.Value {
        switch self {
        case .sendNotification: Self.sending
        case .askUser: Self.answer
        case .listDevices: Self.list
        case .scheduleNotification: Self.scheduled
        case .listScheduled: Self.schedules
        case .cancelScheduled: Self.cancelled
        }
    }

    private var annotations: JSON.Value {
        switch self {
        case .sendNotification, .askUser, .scheduleNotification:
            [
                "readOnlyHint": false, "destructiveHint": false, "idempotentHint": false,
                "openWorldHint": true,
            ]
        case .cancelScheduled:
            [
                "readOnlyHint": false, "destructiveHint": true, "idempotentHint": true,
                "openWorldHint": false,
            ]
        case .listDevices, .listScheduled: ["readOnlyHint": true, "openWorldHint": false]
        }
    }

    // MARK: Results

    static let count: JSON.Value = ["type": "integer", "minimum": 0]
    static let text: JSON.Value = ["type": "string"]
    private static let masked: JSON.Value = [
        "type": "string", "description": "The last characters of the device's token",
    ]

    private static let sending: JSON.Value = [
        "type": "object",
        "properties": [
            "sent": count, "failed": count, "queued": count, "muted": count,
            "devices": ["type": "array", "items": delivery],
        ],
        "required": ["sent", "failed", "queued", "muted", "devices"],
    ]

    private static let delivery: JSON.Value = [
        "type": "object",
        "properties": [
            "device": masked,
            "status": [
                "type": "string", "enum": ["sent", "queued", "muted", "failed"],
                "description":
                    "queued: the relay tries again by itself; muted: the device doesn't want such notifications",
            ],
            "reason": ["type": "string", "description": "Why it is queued or failed"],
            "apnsID": text,
            "removed": [
                "type": "boolean", "description": "Whether the device is gone and was unregistered",
            ],
        ],
        "required": ["device", "status"],
    ]

    private static let list: JSON.Value = [
        "type": "object",
        "properties": ["devices": ["type": "array", "items": device]],
        "required": ["devices"],
    ]

    private static let device: JSON.Value = [
        "type": "object",
        "properties": [
            "device": masked, "deviceName": text, "deviceModel": text, "bundleId": text, "apnsEnv": text,
            "lastPush": [
                "type": "object",
                "properties": ["at": text, "eventType": text, "status": text, "reason": text],
                "required": ["at", "status"],
            ],
        ],
        "required": ["device", "bundleId", "apnsEnv"],
    ]
}

/// What a tool call returns to the model.
struct MCPToolResult: Sendable, Equatable {
    /// The texts, for models and clients that don't use `structured`.
    var texts: [String]
    /// The result as described by the tool's `outputSchema`.
    var structured: JSON.Value?
    /// Whether the call failed; if so, the texts say what to do.
    var isError = false

    /// A failure that the model can correct by changing the call.
    static func failed(_ sentence: String) -> MCPToolResult {
        MCPToolResult(texts: [sentence], isError: true)
    }

    /// Creates a result with its JSON as text, preceded by a sentence if there is one.
    init(_ structured: JSON.Value, sentence: String? = nil, isError: Bool = false) {
        texts = (sentence.map { [$0] } ?? []) + [String(decoding: structured.encoded(), as: UTF8.self)]
        self.structured = structured
        self.isError = isError
    }

    private init(texts: [String], isError: Bool) {
        self.texts = texts
        self.isError = isError
    }

    /// The result in MCP's format.
    var json: JSON.Object {
        var object = JSON.Object()
        object["content"] = .array(texts.map { ["type": "text", "text": .string($0)] })
        object["structuredContent"] = structured
        object["isError"] = .bool(isError)
        return object
    }
}
