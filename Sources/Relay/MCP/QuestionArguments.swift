import JSON
import Storage

/// The checked arguments of `ask_user`.
struct QuestionArguments: Sendable, Equatable {
    let question: String
    let choices: [String]
    /// Whether the user can write an answer of their own.
    let allowsText: Bool
    let title: String
    let sessionID: String?
    /// How many seconds the user has to answer.
    let timeout: Int
    /// The earlier question whose answer the call continues to wait for.
    let asked: AskedQuestion?

    /// Checks the arguments.
    init(_ arguments: JSON.Object) throws(NotificationArguments.Fault) {
        for member in arguments.members where !Self.names.contains(member.name) {
            throw Self.fault("Unknown argument. The arguments are \(Self.names.joined(separator: ", ")).")
        }
        func text(_ value: JSON.Value?, most: Int) -> String? {
            guard let text = value?.text, text.contains(where: { !$0.isWhitespace }), text.utf8.count <= most
            else { return nil }
            return text
        }
        guard let question = text(arguments["question"], most: Bounds.questionBytesMax) else {
            throw Self.fault(
                "question is required and must be a string of 1 to \(Bounds.questionBytesMax) bytes.")
        }
        guard let allowsText = arguments["allowText"].map(\.bool) ?? false else {
            throw Self.fault("allowText must be true or false.")
        }
        let given = arguments["choices"] ?? []
        let choices = given.array?.compactMap { text($0, most: Bounds.choiceBytesMax) } ?? []
        // Free text takes the place of one choice among the actions.
        let counts = allowsText ? 0...Bounds.choicesMax - 1 : 1...Bounds.choicesMax
        guard let count = given.array?.count, counts.contains(count), choices.count == count,
            Set(choices).count == choices.count
        else {
            throw Self.fault(
                "choices must be a list of \(counts.lowerBound) to \(counts.upperBound) different strings of 1 to "
                    + "\(Bounds.choiceBytesMax) bytes\(allowsText ? "" : "; only with allowText it may be empty")."
            )
        }
        self.question = question
        self.choices = choices
        self.allowsText = allowsText
        title = text(arguments["title"], most: Bounds.choiceBytesMax) ?? "An agent asks"
        sessionID = try NotificationArguments.word(
            "sessionID", most: Bounds.identifierBytesMax, in: arguments)
        let seconds = arguments["timeout"].map { $0.wholeNumber ?? 0 } ?? Bounds.questionSecondsDefault
        guard (1...Bounds.questionSecondsMax).contains(seconds) else {
            throw Self.fault("timeout must be whole seconds from 1 to \(Bounds.questionSecondsMax).")
        }
        timeout = seconds
        asked = try arguments["questionID"].map { value throws(NotificationArguments.Fault) in
            guard let asked = value.string.flatMap(AskedQuestion.init(id:)) else {
                throw Self.fault("questionID must be one that ask_user returned.")
            }
            return asked
        }
    }

    private static func fault(_ sentence: String) -> NotificationArguments.Fault {
        NotificationArguments.Fault(sentence: sentence)
    }

    private static let names = [
        "question", "choices", "allowText", "timeout", "title", "sessionID", "questionID",
    ]

    /// The `notification` of `/v1/notify` that asks the question; a choice's number is the action of the reply that
    /// picks it.
    ///
    /// The IDs of the event and the session are written in the same three places as in an event.
    func notification(_ eventID: String) -> JSON.Object {
        var object = JSON.Object()
        let lines = [question] + choices.enumerated().map { "\($0 + 1). \($1)" }
        object["title"] = .string(title)
        object["body"] = .string(lines.joined(separator: "\n"))
        object["sound"] = "default"
        object["interruptionLevel"] = "time-sensitive"
        // Alerts the user even if someone is looking at the agents or a device wants only permission requests.
        object["kind"] = .string(EventType.permission.rawValue)
        let actions =
            choices.indices.map { "\($0 + 1)" } + (allowsText ? [Self.ownText] : []) + [Self.refusal]
        object["actions"] = .array(actions.map { .string($0) })
        object["threadID"] = sessionID.map { .string($0) }
        var names = JSON.Object()
        names["eventID"] = .string(eventID)
        names["sessionID"] = sessionID.map { .string($0) }
        var data = names
        data["data"] = .object(names)
        data["body"] = .object(names)
        object["data"] = .object(data)
        return object
    }

    /// The action of a reply that chooses nothing.
    static let refusal = "reject"

    /// The action of a reply whose text is the answer.
    static let ownText = "write"

    /// The text that the user wrote as their answer.
    func answer(_ action: String, _ text: String?) -> String? {
        guard allowsText, action == Self.ownText, let text, text.contains(where: { !$0.isWhitespace }) else {
            return nil
        }
        return text
    }

    /// Whether a reply answers or refuses the question.
    func accepts(_ action: String, _ text: String?) -> Bool {
        action == Self.refusal || choice(action) != nil || answer(action, text) != nil
    }

    /// The choice in a reply's action: its number, from 1, and its text.
    func choice(_ action: String) -> (number: Int, text: String)? {
        guard let number = Int(action), choices.indices.contains(number - 1) else { return nil }
        return (number, choices[number - 1])
    }

    static let schema: JSON.Value = [
        "type": "object",
        "properties": [
            "question": [
                "type": "string", "minLength": 1,
                "description": "The whole question, with what the user needs to know to decide",
            ],
            "choices": [
                "type": "array", "items": ["type": "string", "minLength": 1],
                "maxItems": .int(Bounds.choicesMax),
                "description":
                    "What the user can choose; they can also refuse all of it, with a message. Required without allowText",
            ],
            "allowText": [
                "type": "boolean", "default": false,
                "description": "Lets the user write an answer of their own instead",
            ],
            "timeout": [
                "type": "integer", "minimum": 1, "maximum": .int(Bounds.questionSecondsMax),
                "default": .int(Bounds.questionSecondsDefault),
                "description": "How many seconds the user has to answer",
            ],
            "title": [
                "type": "string", "minLength": 1, "description": "A short title, such as the project's name",
            ],
            "sessionID": [
                "type": "string", "minLength": 1, "maxLength": .int(Bounds.identifierBytesMax),
                "description": "Your session's ID, if you know it; each session has one open question",
            ],
            "questionID": [
                "type": "string",
                "description": "From a result with the status waiting: goes on waiting instead of asking",
            ],
        ],
        "required": ["question"],
        "additionalProperties": false,
    ]
}

extension QuestionArguments {
    /// Distinguishes this question from others in the session.
    var digest: String {
        // No choice is empty.
        let texts = [sessionID ?? "", question] + choices + (allowsText ? [""] : [])
        return String(Digest256(of: Array(texts.joined(separator: "\0").utf8)).hex.prefix(16))
    }
}

/// A question to the user, with an ID from which every relay that shares the database can find a session's open
/// question.
///
/// Time is divided into spans as long as the longest time limit, and a session's questions are numbered within each
/// span. A number is used only after the previous question is over, so only the last questions of two spans can be
/// open.
struct AskedQuestion: Hashable, Sendable {
    /// A digest of the session's ID.
    let session: String
    let span: Int64
    let number: Int
    /// The time limit for an answer, in seconds since 1970.
    let end: Int64

    /// The start of a digest of what the user was shown; an answer is valid only for that content.
    let digest: String

    var eventID: String { "ask-\(session)-\(span)-\(number)" }
    /// The question's ID as the tool returns it.
    var id: String { "\(eventID)-\(end)-\(digest)" }
}

extension AskedQuestion {
    /// Reads an ID that the tool returned.
    init?(id: String) {
        let parts = id.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0] == "ask", let span = Int64(parts[2]), let number = Int(parts[3]),
            let end = Int64(parts[4]), end < Int64.max / 1000
        else { return nil }
        self.init(session: String(parts[1]), span: span, number: number, end: end, digest: String(parts[5]))
        guard self.id == id, id.utf8.count <= Bounds.eventIDBytesMax else { return nil }
    }
}

extension MCPTool {
    static let answer: JSON.Value = [
        "type": "object",
        "properties": [
            "status": [
                "type": "string", "enum": ["answered", "declined", "waiting", "timed_out", "replaced"],
                "description": """
                declined: the user chose nothing; waiting: call again with questionID; replaced: another question of \
                the session was asked. Only answered has an answer
                """,
            ],
            "questionID": text,
            "choice": [
                "type": "integer", "minimum": 1,
                "description": "The number of the choice, from 1; absent if the user wrote the answer",
            ],
            "answer": ["type": "string", "description": "The text of the choice, or what the user wrote"],
            "message": ["type": "string", "description": "What the user wrote"],
        ],
        "required": ["status", "questionID"],
    ]
}
