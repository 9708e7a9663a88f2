/// The content of a sealed notification: the plaintext of an ``Envelope``.
public struct SealedMessage: Sendable, Equatable {
    /// How long a message without a ``timeToLive`` is current, in seconds.
    public static let timeToLiveDefault = 86_400

    /// The event's ID, unique per key: 1 to 128 bytes of UTF-8.
    public var id: String
    /// When the message was sealed, in whole seconds since 1970.
    public var sentAt: Int
    /// The title, unless there is only a body.
    public var title: String?
    /// The text, unless there is only a title.
    public var body: String?
    /// The session that the message is about.
    public var sessionID: String?
    /// The pairing's server ID.
    public var serverID: String?
    /// How long the message is current, in seconds: 0 to 2,592,000.
    public var timeToLive: Int?
    /// How else the notification should look and sound.
    public var properties = Properties()
    /// What the message asks a person to decide.
    public var request: Request?

    /// Creates a message with an ID and the time of sealing, in whole seconds since 1970.
    public init(id: String, sentAt: Int, title: String? = nil, body: String? = nil) {
        self.id = id
        self.sentAt = sentAt
        self.title = title
        self.body = body
    }

    /// Properties as in the `notification` of `/v1/notify`, which take precedence over the push's visible ones.
    public struct Properties: Sendable, Equatable {
        /// The line between title and body.
        public var subtitle: String?
        /// The identifier of the notification's category, which defines its buttons.
        public var category: String?
        /// Groups notifications that have the same value.
        public var threadID: String?
        /// The name of a sound in the app, or `default`.
        public var sound: String?
        /// The number on the app's icon.
        public var badge: Int?
        /// `passive`, `active`, `time-sensitive` or `critical`.
        public var interruptionLevel: String?
        /// The replies that the sender accepts as ``SealedReply/action``; any if empty.
        public var actions: [String] = []

        /// Creates empty properties.
        public init() {}
    }
}

extension SealedMessage {
    private static let idBytesMax = 128
    static let timeMax = 1 << 53 - 1
    private static let timeToLiveMax = 2_592_000

    /// The JSON to seal, in UTF-8.
    func content() throws(SealingFailure) -> [UInt8] {
        guard (1...Self.idBytesMax).contains(id.utf8.count) else { throw .invalid("id") }
        guard (0...Self.timeMax).contains(sentAt) else { throw .invalid("sentAt") }
        guard !(title ?? "").isEmpty || !(body ?? "").isEmpty else { throw .invalid("title") }
        if let timeToLive, !(0...Self.timeToLiveMax).contains(timeToLive) { throw .invalid("timeToLive") }
        var members: [JSONValue.Member] = []
        members.add("t", title)
        members.add("b", body)
        members.add("s", sessionID)
        members.add("v", serverID)
        members.add("i", id)
        members.append(JSONValue.Member("at", .integer(sentAt)))
        if let timeToLive { members.append(JSONValue.Member("ttl", .integer(timeToLive))) }
        let properties = properties.members
        if !properties.isEmpty { members.append(JSONValue.Member("n", .object(properties))) }
        if let request { members.append(JSONValue.Member("q", .object(request.members))) }
        return Array(JSONValue.object(members).text.utf8)
    }

    /// Reads a message from an envelope's content.
    init(content: [UInt8]) throws(Refusal) {
        guard let json = JSONValue(parsing: content), json.isObject else { throw .badContent }
        let texts = try ["i", "t", "b", "s", "v"].map { name throws(Refusal) in try json.text(name) }
        guard let id = texts[0], (1...Self.idBytesMax).contains(id.utf8.count),
            let sentAt = try json.whole("at", max: Self.timeMax),
            !(texts[1] ?? "").isEmpty || !(texts[2] ?? "").isEmpty
        else { throw .badContent }
        self.init(id: id, sentAt: sentAt, title: texts[1], body: texts[2])
        sessionID = texts[3]
        serverID = texts[4]
        timeToLive = try json.whole("ttl", max: Self.timeToLiveMax)
        if let wanted = json["n"] {
            guard wanted.isObject else { throw .badContent }
            properties = Properties(wanted)
        }
        if let asked = json["q"] {
            guard asked.isObject else { throw .badContent }
            request = Request(asked)
        }
    }
}

extension SealedMessage.Properties {
    // A member that this version doesn't understand must not make the text unreadable.
    fileprivate init(_ json: JSONValue) {
        subtitle = json["subtitle"]?.string
        category = json["category"]?.string
        threadID = json["threadID"]?.string
        sound = json["sound"]?.string
        badge = json["badge"]?.integer
        interruptionLevel = json["interruptionLevel"]?.string
        actions = json["actions"]?.array?.compactMap(\.string) ?? []
    }

    fileprivate var members: [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        members.add("subtitle", subtitle)
        members.add("category", category)
        members.add("threadID", threadID)
        members.add("sound", sound)
        if let badge { members.append(JSONValue.Member("badge", .integer(badge))) }
        members.add("interruptionLevel", interruptionLevel)
        members.add("actions", actions)
        return members
    }
}

extension [JSONValue.Member] {
    /// Appends a string, if there is one.
    package mutating func add(_ name: String, _ text: String?) {
        if let text { append(JSONValue.Member(name, .string(text))) }
    }

    /// Appends an array of strings, unless it is empty.
    package mutating func add(_ name: String, _ texts: [String]) {
        if !texts.isEmpty { append(JSONValue.Member(name, .array(texts.map { .string($0) }))) }
    }
}

extension JSONValue {
    // A member that must be a string if it is present.
    func text(_ name: String) throws(Refusal) -> String? {
        guard let value = self[name] else { return nil }
        guard let text = value.string else { throw .badContent }
        return text
    }

    // A member that must be a whole number from 0 to `max` if it is present; `1.0` is also a whole number.
    func whole(_ name: String, max: Int) throws(Refusal) -> Int? {
        guard let value = self[name] else { return nil }
        let number =
            switch value {
            case .integer(let number): number
            case .number(let number): Int(exactly: number) ?? -1
            default: -1
            }
        guard (0...max).contains(number) else { throw .badContent }
        return number
    }
}
