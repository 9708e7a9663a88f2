/// A caller's wish to be the one that handles an event: a row of `event_receipt` while it lasts.
///
/// The same value is given to `complete` and `release`; its id makes sure that a caller whose lease ran out
/// can't end the claim of the one that came after it.
package struct EventClaim: Hashable, Sendable {
    /// This claim's own id.
    package let id: UUIDv7
    /// The secret under which the event came.
    package let key: SecretKey
    /// The caller's identifier of the event, compared byte for byte.
    package let eventID: String
    /// The digest of everything in the event that matters: another one under the same `eventID` is a conflict.
    package let content: Digest256
    /// The time of the call.
    package let at: EpochMilliseconds
    /// When others may take the event over, if it has been neither completed nor released by then.
    ///
    /// It is for processes that die, so it must be later than any event can take, or the event is sent twice.
    package let leaseUntil: EpochMilliseconds

    /// A claim of its parts.
    package init(
        id: UUIDv7, key: SecretKey, eventID: String, content: Digest256, at: EpochMilliseconds,
        leaseUntil: EpochMilliseconds
    ) {
        self.id = id
        self.key = key
        self.eventID = eventID
        self.content = content
        self.at = at
        self.leaseUntil = leaseUntil
    }

    /// Refuses what can't be stored as it is; every driver calls it first.
    package func validate() throws(StorageError) {
        try StorageText.check(eventID, field: "eventID", bytes: StorageLimits.eventIDBytes)
    }

    /// Refuses an answer past its bound; every driver calls it before it stores one.
    package func validate(answer: [UInt8]) throws(StorageError) {
        guard answer.count <= StorageLimits.answerBytes else { throw .invalidValue(field: "answer") }
    }
}

/// What became of a claim.
package enum EventClaimResult: Hashable, Sendable {
    /// The event is the caller's to handle, and then to `complete` or `release`.
    case claimed
    /// Another caller handles it now.
    case inProgress
    /// It was handled within the last 24 h; these bytes were the answer.
    case answered([UInt8])
    /// Another event has this `eventID`, handled or being handled.
    case conflict
}
