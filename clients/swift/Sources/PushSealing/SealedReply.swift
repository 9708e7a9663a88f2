/// A person's reply to an event, sealed by the phone for the event's sender (docs/reference/encryption.md, Replies).
public struct SealedReply: Sendable, Equatable {
    /// What the person chose: 1 to 64 printable ASCII characters without spaces.
    public var action: String
    /// What the person typed.
    public var text: String?
    /// The answers to the event's questions, in the same order; used with the action `answer`.
    public var answers: [[String]]?
    /// When the reply was sealed, in seconds since 1970.
    public var sentAt: Int

    /// Creates a reply.
    public init(action: String, text: String? = nil, answers: [[String]]? = nil, sentAt: Int) {
        self.action = action
        self.text = text
        self.answers = answers
        self.sentAt = sentAt
    }

    /// A pairing's key for sealing and opening replies.
    public struct Key: Sendable, Equatable {
        let key: NotificationKey

        /// Derives the key from a pairing secret.
        public init(_ secret: PairingSecret) {
            key = NotificationKey(
                idBytes: secret.notificationKey.idBytes,
                bytes: secret.derived("reply key", count: NotificationKey.byteCount))
        }
    }

    /// Seals the reply to an event; returns `sealed` for `/v1/reply`.
    ///
    /// - Parameter eventID: The ID inside the event's envelope, which is authentic.
    /// - Throws: ``SealingFailure``.
    public func sealed(for eventID: String, with key: Key) throws(SealingFailure) -> String {
        var generator = SystemRandomNumberGenerator()
        let nonce = RandomBytes.make(CipherSizes.nonce, using: &generator)
        return try Envelope.seal(
            content: try content(), type: Self.type(eventID), with: key.key, nonce: nonce)
    }

    /// Opens the reply to an event; accept only one per event.
    ///
    /// - Throws: ``Refusal``.
    public init(opening sealed: String, for eventID: String, with keys: [Key]) throws(Refusal) {
        let content = try Envelope.openContent(sealed, type: Self.type(eventID), with: keys.map(\.key))
            .content
        guard let json = JSONValue(parsing: content), json.isObject, let action = json["a"]?.string,
            Self.isAction(action), let sentAt = try json.whole("at", max: SealedMessage.timeMax)
        else { throw .badContent }
        let answers = try json["q"].map { value throws(Refusal) in try Self.answers(value) }
        self.init(action: action, text: try json.text("b"), answers: answers, sentAt: sentAt)
    }

    private static func answers(_ value: JSONValue) throws(Refusal) -> [[String]] {
        let answers = value.array?.map { $0.array?.map(\.string) }
        guard let answers, answers.allSatisfy({ $0?.contains { $0 == nil } == false }) else {
            throw .badContent
        }
        return answers.map { ($0 ?? []).compactMap(\.self) }
    }

    /// The last part of the associated data, which binds a reply to its event.
    static func type(_ eventID: String) -> String { "reply/" + eventID }

    private func content() throws(SealingFailure) -> [UInt8] {
        guard Self.isAction(action) else { throw .invalid("action") }
        guard (0...SealedMessage.timeMax).contains(sentAt) else { throw .invalid("sentAt") }
        var members = [JSONValue.Member("a", .string(action)), JSONValue.Member("at", .integer(sentAt))]
        members.add("b", text)
        if let answers {
            let lists = answers.map { JSONValue.array($0.map { .string($0) }) }
            members.append(JSONValue.Member("q", .array(lists)))
        }
        return Array(JSONValue.object(members).text.utf8)
    }

    private static func isAction(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
