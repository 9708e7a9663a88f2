/// An outcome of something that a tenant sent: the end of a push, an acknowledgement or a reply.
package struct FinalOutcome: Hashable, Sendable {
    /// What happened.
    package enum Content: Hashable, Sendable {
        /// A push ended; the delivery log row contains only this push.
        case push(Delivery)
        /// Somebody has seen the event, or it is over.
        case acknowledgement
        /// Somebody replied to the event.
        case reply(EventReply)
    }

    /// What happened.
    package let content: Content
    /// The outcome's place among the secret's outcomes.
    package let position: OutcomePosition

    /// Creates an outcome from its parts.
    package init(_ content: Content, at position: OutcomePosition) {
        self.content = content
        self.position = position
    }
}

/// A place in the list of a secret's outcomes, which is ordered by time, then kind, then row ID (byte for byte).
package struct OutcomePosition: Hashable, Sendable, Comparable {
    /// The kinds of outcomes, in the order in which outcomes from the same millisecond are listed.
    package enum Kind: Int, CaseIterable, Sendable {
        case push
        case acknowledgement
        case reply
    }

    /// The time of the outcome.
    package let time: EpochMilliseconds
    /// The kind of the outcome.
    package let kind: Kind
    /// The ID of the push's log row, or of the event.
    package let id: String
    /// The push's number in its row, counting from 1; 0 for other kinds of outcome.
    package let number: Int

    /// Creates a place from its parts.
    package init(time: EpochMilliseconds, kind: Kind, id: String, number: Int = 0) {
        self.time = time
        self.kind = kind
        self.id = id
        self.number = number
    }

    /// Creates the place before all outcomes at or after a time.
    package init(before time: EpochMilliseconds) {
        self.init(time: time, kind: .push, id: "")
    }

    /// Compares the IDs byte for byte.
    package static func == (left: OutcomePosition, right: OutcomePosition) -> Bool {
        left.isBeside(right) && left.number == right.number && left.id.utf8.elementsEqual(right.id.utf8)
    }

    /// Compares the IDs byte for byte.
    package static func < (left: OutcomePosition, right: OutcomePosition) -> Bool {
        guard left.isBeside(right) else {
            return (left.time, left.kind.rawValue) < (right.time, right.kind.rawValue)
        }
        guard left.id.utf8.elementsEqual(right.id.utf8) else {
            return left.id.utf8.lexicographicallyPrecedes(right.id.utf8)
        }
        return left.number < right.number
    }

    /// Hashes part of what `==` compares.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(time)
        hasher.combine(number)
    }

    private func isBeside(_ other: OutcomePosition) -> Bool { time == other.time && kind == other.kind }

    /// The lowest time and ID of rows that can have outcomes of the given kind after this place.
    func start(of other: Kind) -> (time: EpochMilliseconds, id: String) {
        if other == kind { return (time, id) }
        return (other.rawValue < kind.rawValue ? time + 1 : time, "")
    }
}

/// The final outcomes of what tenants sent, from the delivery log, acknowledgements and replies.
package protocol OutcomeStorage: Sendable {
    /// A secret's outcomes after a place and before a time, oldest first, at most `limit`.
    ///
    /// Reads only rows that other calls have stored: an outcome is available only while its row exists.
    func outcomes(
        of key: SecretKey, after position: OutcomePosition, before end: EpochMilliseconds, limit: Int
    ) async throws(StorageError) -> [FinalOutcome]
}
