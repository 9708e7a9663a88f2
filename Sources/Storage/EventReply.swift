/// Identifies a secret's event by the ID that the sender gave it.
package struct EventName: Hashable, Sendable {
    /// The event's secret.
    package let key: SecretKey
    /// The ID that the sender gave the event, compared byte for byte.
    package let eventID: String

    /// Creates the name of an event.
    package init(_ eventID: String, of key: SecretKey) {
        self.key = key
        self.eventID = eventID
    }

    /// Compares the IDs byte for byte.
    package static func == (left: EventName, right: EventName) -> Bool {
        left.key == right.key && left.eventID.utf8.elementsEqual(right.eventID.utf8)
    }

    /// Hashes what `==` compares.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(key)
        for byte in eventID.utf8 { hasher.combine(byte) }
    }

    /// Throws if the ID can't be stored unchanged; every driver calls this first.
    package func validate() throws(StorageError) {
        try StorageText.check(eventID, field: "eventID", bytes: StorageLimits.eventIDBytes)
    }
}

/// A person's reply to an event, as the phone sent it.
package struct EventReply: Hashable, Sendable {
    /// The action that the person chose; nil if the reply is sealed.
    package let action: String?
    /// The text that the person typed.
    package let text: String?
    /// The action and text, encrypted for the sender.
    package let sealed: String?

    /// Creates a reply from its columns.
    package init(action: String? = nil, text: String? = nil, sealed: String? = nil) {
        self.action = action
        self.text = text
        self.sealed = sealed
    }

    /// Throws if a value can't be stored unchanged; every driver calls this first.
    package func validate() throws(StorageError) {
        try StorageText.check(action ?? "", field: "action", bytes: StorageLimits.replyActionBytes)
        try StorageText.check(text ?? "", field: "text", bytes: StorageLimits.replyTextBytes)
        try StorageText.check(sealed ?? "", field: "sealed", bytes: StorageLimits.sealedBytes)
    }
}

/// The result of a reply to an event, as reported by the event's sender.
package struct ReplyResult: Hashable, Sendable {
    /// The outcome of the reply; nil if the result is sealed.
    package let outcome: String?
    /// The reason for the outcome, as one word for programs.
    package let reason: String?
    /// The outcome and reason, encrypted for the phone.
    package let sealed: String?

    /// Creates a result from its columns.
    package init(outcome: String? = nil, reason: String? = nil, sealed: String? = nil) {
        self.outcome = outcome
        self.reason = reason
        self.sealed = sealed
    }

    /// Throws if a value can't be stored unchanged; every driver calls this first.
    package func validate() throws(StorageError) {
        try StorageText.check(outcome ?? "", field: "outcome", bytes: StorageLimits.replyOutcomeBytes)
        try StorageText.check(reason ?? "", field: "reason", bytes: StorageLimits.replyReasonBytes)
        try StorageText.check(sealed ?? "", field: "sealed", bytes: StorageLimits.sealedBytes)
    }
}

/// The acknowledgement of an event, which shows that someone has seen it or that it is over: a row of `event_reply`.
package struct Acknowledgement: Hashable, Sendable {
    /// When the first acknowledgement, reply or result arrived.
    package var at: EpochMilliseconds
    /// The first reply; nil if there is none.
    package var reply: EventReply?
    /// When the first reply arrived; nil if there is none.
    package var repliedAt: EpochMilliseconds?
    /// The first reported result; nil if there is none.
    package var result: ReplyResult?
    /// When the first result was reported; nil if there is none.
    package var resultAt: EpochMilliseconds?

    /// Creates an acknowledgement from its columns.
    package init(
        at: EpochMilliseconds, reply: EventReply? = nil, repliedAt: EpochMilliseconds? = nil,
        result: ReplyResult? = nil, resultAt: EpochMilliseconds? = nil
    ) {
        self.at = at
        self.reply = reply
        self.repliedAt = repliedAt
        self.result = result
        self.resultAt = resultAt
    }
}

/// The result of acknowledging an event, of replying to it, or of reporting the result of the reply.
package enum AcknowledgementResult: Hashable, Sendable {
    /// The call's change was stored; the associated value is the event's acknowledgement as it is now.
    case stored(Acknowledgement)
    /// The event had already been acknowledged, replied to or reported on; nothing was changed.
    case existing(Acknowledgement)
    /// No event with this ID was sent under the secret within the last 24 h.
    case unknownEvent
    /// The event offers only these actions, not the one in the reply; nothing was changed.
    case notOffered([String])
}

/// The state of an event according to its receipt.
package enum EventState: Hashable, Sendable {
    /// The event has no valid receipt.
    case unknown
    /// The event is being sent.
    case inProgress
    /// The event was sent; this is the answer.
    case answered([UInt8])
}

/// Acknowledgements of events and replies to them, for the events' senders.
///
/// Like a receipt, a row keeps the hash under which it was stored, and is found with any of the secret's hashes. It
/// expires together with the event's receipt.
package protocol ReplyStorage: Sendable {
    /// Acknowledges an event and stores the reply, if there is one; also acknowledges the event's history item if the
    /// history can be written.
    ///
    /// The event needs a valid receipt; if the receipt names actions, an unsealed reply must use one of them. Of
    /// several concurrent replies, only the first is stored. Repeating the call is allowed. A secret's newest
    /// ``StorageLimits/acknowledgementsMax`` acknowledgements are kept.
    func acknowledge(
        _ event: EventName, reply: EventReply?, at now: EpochMilliseconds
    ) async throws(StorageError) -> AcknowledgementResult

    /// Stores the result of the reply to an event, and acknowledges the event unless it already has been.
    ///
    /// The event needs a valid receipt, but no reply: a result also applies to a reply that arrives later. Of several
    /// concurrent results, only the first is stored. Repeating the call is allowed. Never returns `notOffered`.
    func report(
        _ result: ReplyResult, of event: EventName, at now: EpochMilliseconds
    ) async throws(StorageError) -> AcknowledgementResult

    /// The acknowledgements of `events` that are valid at `now`, read with few queries; others are left out.
    func acknowledgements(
        of events: Set<EventName>, at now: EpochMilliseconds
    ) async throws(StorageError) -> [EventName: Acknowledgement]

    /// The state of the event's receipt at `now`; of several receipts, one with an answer takes precedence.
    func state(of event: EventName, at now: EpochMilliseconds) async throws(StorageError) -> EventState
}
