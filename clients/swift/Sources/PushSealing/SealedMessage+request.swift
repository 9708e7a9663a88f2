extension SealedMessage {
    /// What the sender asks a person to decide (docs/reference/encryption.md, Requests).
    public struct Request: Sendable, Equatable {
        /// When the sender stops waiting, in whole seconds since 1970.
        public var end: Int?
        /// Whether the body shows only a part of the request, in which case nobody may allow it from the phone.
        public var isCut = false
        /// The questions to answer with the action `answer`; empty for other requests, and if this version can't read
        /// them.
        public var questions: [Question] = []

        /// Creates a request without an end.
        public init() {}
    }

    /// A question to a person.
    public struct Question: Sendable, Equatable {
        /// The question itself.
        public var text: String
        /// A heading of a few words.
        public var heading: String?
        /// The answers to choose from.
        public var options: [Option]
        /// Whether several options can be chosen.
        public var isMultiple = false
        /// Whether the person can write an answer of their own.
        public var allowsText = false
        /// Whether the question can be left unanswered.
        public var isOptional = false

        /// Creates a question that requires one of the options.
        public init(_ text: String, heading: String? = nil, options: [Option] = []) {
            self.text = text
            self.heading = heading
            self.options = options
        }
    }

    /// One of the answers to choose from.
    public struct Option: Sendable, Equatable {
        /// The option's name, unique within its question.
        public var label: String
        /// What the option means.
        public var detail: String?

        /// Creates an option.
        public init(_ label: String, detail: String? = nil) {
            self.label = label
            self.detail = detail
        }
    }
}

extension SealedMessage.Request {
    private static let questionsMax = 16

    // A request that this version doesn't understand must not make the text unreadable.
    init(_ json: JSONValue) {
        end = json["end"]?.integer
        isCut = json["cut"]?.bool ?? false
        guard let listed = json["f"]?.array, listed.count <= Self.questionsMax else { return }
        let read = listed.compactMap(SealedMessage.Question.init)
        if read.count == listed.count { questions = read }
    }

    var members: [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        if let end { members.append(JSONValue.Member("end", .integer(end))) }
        members.add("cut", isCut)
        if !questions.isEmpty {
            members.append(JSONValue.Member("f", .array(questions.map { .object($0.members) })))
        }
        return members
    }
}

extension SealedMessage.Question {
    fileprivate init?(_ json: JSONValue) {
        guard let text = json["t"]?.string, !text.isEmpty else { return nil }
        let listed = json["o"]?.array ?? []
        let read = listed.compactMap { option -> SealedMessage.Option? in
            guard let label = option["l"]?.string, !label.isEmpty else { return nil }
            return SealedMessage.Option(label, detail: option["x"]?.string)
        }
        guard read.count == listed.count, Set(read.map { Array($0.label.utf8) }).count == read.count else {
            return nil
        }
        self.init(text, heading: json["h"]?.string, options: read)
        isMultiple = json["m"]?.bool ?? false
        allowsText = json["w"]?.bool ?? false
        isOptional = json["e"]?.bool ?? false
        guard allowsText || !options.isEmpty else { return nil }
    }

    fileprivate var members: [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        members.add("h", heading)
        members.add("t", text)
        if !options.isEmpty {
            let listed = options.map { option -> JSONValue in
                var members = [JSONValue.Member("l", .string(option.label))]
                members.add("x", option.detail)
                return .object(members)
            }
            members.append(JSONValue.Member("o", .array(listed)))
        }
        members.add("m", isMultiple)
        members.add("w", allowsText)
        members.add("e", isOptional)
        return members
    }
}

extension [JSONValue.Member] {
    /// Appends a member with the value `true`, or nothing if the value is `false`.
    fileprivate mutating func add(_ name: String, _ isTrue: Bool) {
        if isTrue { append(JSONValue.Member(name, .bool(true))) }
    }
}
