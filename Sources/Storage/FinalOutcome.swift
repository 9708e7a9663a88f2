/// Something that became of what a secret sent.
package struct FinalOutcome: Hashable, Sendable {
    /// What it is.
    package enum Content: Hashable, Sendable {
        /// A push ended: a row of the delivery log with one push.
        case push(Delivery)
        /// Somebody has seen the event, or it is over.
        case acknowledgement
        /// Somebody replied to the event.
        case reply(EventReply)
    }

    /// What it is.
    package let content: Content
    /// Its place among the secret's outcomes.
    package let position: OutcomePosition

    /// An outcome from its parts.
    package init(_ content: Content, at position: OutcomePosition) {
        self.content = content
        self.position = position
    }
}

/// A place in the list of a secret's outcomes, which is ordered by time, then kind, then the rows' IDs by their bytes.
package struct OutcomePosition: Hashable, Sendable, Comparable {
    /// The kinds of outcomes, in the order of those of the same millisecond.
    package enum Kind: Int, CaseIterable, Sendable {
        case push
        case acknowledgement
        case reply
    }

    /// When it happened.
    package let time: EpochMilliseconds
    /// What happened.
    package let kind: Kind
    /// The ID of the push's log row, or of the event.
    package let id: String
    /// The push's number in its row, from 1; otherwise 0.
    package let number: Int

    /// A place from its parts.
    package init(time: EpochMilliseconds, kind: Kind, id: String, number: Int = 0) {
        self.time = time
        self.kind = kind
        self.id = id
        self.number = number
    }

    /// The place before all outcomes from a time on.
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

    /// Hashes a part of what `==` compares.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(time)
        hasher.combine(number)
    }

    private func isBeside(_ other: OutcomePosition) -> Bool { time == other.time && kind == other.kind }

    /// Where the rows of a kind begin that can have outcomes after this place.
    func start(of other: Kind) -> (time: EpochMilliseconds, id: String) {
        if other == kind { return (time, id) }
        return (other.rawValue < kind.rawValue ? time + 1 : time, "")
    }
}

/// The final outcomes of what secrets sent, from the delivery log and from acknowledgements and replies.
package protocol OutcomeStorage: Sendable {
    /// A secret's outcomes after a place and before a time, oldest first, at most `limit`.
    ///
    /// Reads only rows that other calls have stored: outcomes end with these rows.
    func outcomes(
        of key: SecretKey, after position: OutcomePosition, before end: EpochMilliseconds, limit: Int
    ) async throws(StorageError) -> [FinalOutcome]
}
