/// A caller's claim on an event: a row of `event_receipt`.
///
/// The same value is passed to `complete` and `release`; its ID ensures that a caller whose lease expired
/// can't end a later caller's claim.
package struct EventClaim: Hashable, Sendable {
    /// This claim's ID.
    package let id: UUIDv7
    /// The event's secret.
    package let key: SecretKey
    /// The ID that the caller gave the event, compared byte for byte.
    package let eventID: String
    /// A digest of the event's content; a different digest under the same `eventID` is a conflict.
    package let content: Digest256
    /// The actions that a person may choose in a reply, each without spaces; if empty, any action is allowed.
    package let actions: [String]
    /// The time of the call.
    package let at: EpochMilliseconds
    /// When others may take over the event, unless it has been completed or released by then.
    ///
    /// The lease's expiry frees events whose process died. The lease must last longer than any event takes to handle;
    /// otherwise the event is sent twice.
    package let leaseUntil: EpochMilliseconds

    /// Creates a claim from its parts.
    package init(
        id: UUIDv7, key: SecretKey, eventID: String, content: Digest256, actions: [String] = [],
        at: EpochMilliseconds, leaseUntil: EpochMilliseconds
    ) {
        self.id = id
        self.key = key
        self.eventID = eventID
        self.content = content
        self.actions = actions
        self.at = at
        self.leaseUntil = leaseUntil
    }

    /// Throws if a value can't be stored unchanged; every driver calls this first.
    package func validate() throws(StorageError) {
        try StorageText.check(eventID, field: "eventID", bytes: StorageLimits.eventIDBytes)
        try StorageText.check(
            storedActions ?? "", field: "actions", bytes: StorageLimits.replyActionsBytes)
    }

    /// The actions in their stored form, separated by spaces; nil if there are none.
    package var storedActions: String? { actions.isEmpty ? nil : actions.joined(separator: " ") }

    /// Throws if an answer exceeds its limit; every driver calls this before storing one.
    package func validate(answer: [UInt8]) throws(StorageError) {
        guard answer.count <= StorageLimits.answerBytes else { throw .invalidValue(field: "answer") }
    }
}

/// The result of a claim.
package enum EventClaimResult: Hashable, Sendable {
    /// The caller must handle the event, then call `complete` or `release`.
    case claimed
    /// Another caller is handling the event.
    case inProgress
    /// The event was handled within the last 24 h; this is the answer.
    case answered([UInt8])
    /// Another event with this `eventID` has been handled or is being handled.
    case conflict
}
