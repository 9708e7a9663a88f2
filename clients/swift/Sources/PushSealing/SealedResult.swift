/// The outcome of a reply, as in docs/reference/api.md; later senders may report outcomes that aren't listed here.
public struct ReplyOutcome: RawRepresentable, Sendable, Hashable {
    /// The agent accepted it.
    public static let taken = Self(rawValue: "taken")
    /// The question was answered somewhere else, for example at the computer.
    public static let answeredElsewhere = Self(rawValue: "answered_elsewhere")
    /// The request is no longer open.
    public static let tooLate = Self(rawValue: "too_late")
    /// The sender or the agent doesn't accept the reply.
    public static let refused = Self(rawValue: "refused")
    /// The agent couldn't be reached for as long as the sender tried.
    public static let notDelivered = Self(rawValue: "not_delivered")

    /// The outcome as the API writes it.
    public let rawValue: String

    /// Creates an outcome.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// The result of a sealed reply, sealed by the event's sender for the phones (docs/reference/encryption.md, Results of
/// replies).
public struct SealedResult: Sendable, Equatable {
    /// The result of the reply.
    public var outcome: ReplyOutcome
    /// The reason in one word, for programs: 1 to 64 characters of `a-z 0-9 _`.
    public var reason: String?
    /// When the result was sealed, in seconds since 1970.
    public var sentAt: Int
    /// The digest of the reply that the result is about; `nil` if the result is for every reply, because the event was
    /// over before one arrived.
    public private(set) var replyDigest: String?

    /// Creates a result.
    ///
    /// - Parameter reply: The sealed reply that the result is about. It may be `nil` only for
    ///   ``ReplyOutcome/answeredElsewhere`` and ``ReplyOutcome/tooLate``.
    public init(outcome: ReplyOutcome, reason: String? = nil, ofReply reply: String?, sentAt: Int) {
        self.outcome = outcome
        self.reason = reason
        self.sentAt = sentAt
        replyDigest = reply.map { Self.digest(ofReply: $0) }
    }

    /// A pairing's key for sealing and opening results.
    public struct Key: Sendable, Equatable {
        let key: NotificationKey

        /// Derives the key from a pairing secret.
        public init(_ secret: PairingSecret) {
            key = NotificationKey(
                idBytes: secret.notificationKey.idBytes,
                bytes: secret.derived("reply result key", count: NotificationKey.byteCount))
        }
    }

    /// Seals the result of the reply to an event; returns `sealed` for `/v1/reply/result`.
    ///
    /// - Throws: ``SealingFailure``.
    public func sealed(for eventID: String, with key: Key) throws(SealingFailure) -> String {
        var generator = SystemRandomNumberGenerator()
        let nonce = RandomBytes.make(CipherSizes.nonce, using: &generator)
        return try Envelope.seal(
            content: try content(), type: Self.type(eventID), with: key.key, nonce: nonce)
    }

    /// Opens the result of the reply to an event.
    ///
    /// - Parameter reply: The sealed reply that this phone sent; the result of another reply is refused as
    ///   ``Refusal/notAuthentic``. `nil` if this phone didn't reply, for example when it shows the history.
    /// - Throws: ``Refusal``.
    public init(
        opening sealed: String, for eventID: String, ofReply reply: String?, with keys: [Key]
    ) throws(Refusal) {
        let content = try Envelope.openContent(sealed, type: Self.type(eventID), with: keys.map(\.key))
            .content
        guard let json = JSONValue(parsing: content), json.isObject,
            let outcome = try json.text("o"), Self.isWord(outcome, max: Self.outcomeMax),
            let sentAt = try json.whole("at", max: SealedMessage.timeMax)
        else { throw .badContent }
        let reason = try json.text("c")
        let digest = try json.text("r")
        self.outcome = ReplyOutcome(rawValue: outcome)
        self.reason = reason
        self.sentAt = sentAt
        replyDigest = digest
        guard reason.map({ Self.isWord($0, max: Self.reasonMax) }) ?? true, isAboutReplyIfNeeded else {
            throw .badContent
        }
        if let reply, let digest, digest != Self.digest(ofReply: reply) { throw .notAuthentic }
    }

    /// The last part of the associated data, which binds a result to its event.
    static func type(_ eventID: String) -> String { "reply-result/" + eventID }

    private static let outcomeMax = 32
    private static let reasonMax = 64

    private static func digest(ofReply sealed: String) -> String {
        Base64URL.encode(
            SystemCiphers.authenticationCode(of: Array(sealed.utf8), key: Array("apn-relay reply".utf8)))
    }

    /// Whether the result refers to a reply, or has an outcome that doesn't require one.
    private var isAboutReplyIfNeeded: Bool {
        replyDigest != nil || outcome == .answeredElsewhere || outcome == .tooLate
    }

    private static func isWord(_ text: String, max: Int) -> Bool {
        (1...max).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "_")
            }
    }

    private func content() throws(SealingFailure) -> [UInt8] {
        guard Self.isWord(outcome.rawValue, max: Self.outcomeMax), isAboutReplyIfNeeded else {
            throw .invalid("outcome")
        }
        guard reason.map({ Self.isWord($0, max: Self.reasonMax) }) ?? true else { throw .invalid("reason") }
        guard (0...SealedMessage.timeMax).contains(sentAt) else { throw .invalid("sentAt") }
        var members = [
            JSONValue.Member("o", .string(outcome.rawValue)), JSONValue.Member("at", .integer(sentAt)),
        ]
        members.add("c", reason)
        members.add("r", replyDigest)
        return Array(JSONValue.object(members).text.utf8)
    }
}
