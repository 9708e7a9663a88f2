/// The limits of stored values; a value over its limit throws `StorageError.invalidValue`.
///
/// Each is the size of the narrowest column among the drivers' tables, so that no driver truncates a value.
package enum StorageLimits {
    /// Bytes of a device token (hexadecimal text).
    package static let tokenBytes = 400
    /// Bytes of a bundle identifier.
    package static let bundleIDBytes = 255
    /// Bytes of an event's type.
    package static let eventTypeBytes = 32
    /// Bytes of a session's identifier.
    package static let sessionIDBytes = 255
    /// Bytes of a caller's event identifier.
    package static let eventIDBytes = 128
    /// Bytes of a delivery's error text; `Delivery` shortens it.
    package static let errorBytes = 1_024
    /// Bytes of a row's id: a UUID as text.
    package static let idBytes = 36
    /// Bytes of a waiting push's `apns-push-type`.
    package static let pushTypeBytes = 16
    /// Bytes of a waiting push's `apns-collapse-id`.
    package static let collapseIDBytes = 64
    /// Bytes of a queued push's payload: APNs' limit for all push types except `voip`.
    package static let payloadBytes = 4_096
    /// Bytes of each detail that a device sends about itself.
    package static let deviceDetailBytes = 128
    /// Bytes of a device's preferences.
    package static let preferencesBytes = 4_096
    /// Bytes of the versions of sealed notifications that a device can open.
    package static let sealedVersionsBytes = 64
    /// Bytes of an app's name for its installation.
    package static let installationIDBytes = 64
    /// Bytes of a device's Web Push subscription.
    package static let webPushBytes = 4_096
    /// Bytes of a key that the relays of a database share.
    package static let relayKeyBytes = 1_024
    /// Bytes of such a key's name.
    package static let relayKeyNameBytes = 32
    /// Bytes of the operator's note about a blocked secret.
    package static let blockNoteBytes = 255
    /// Secrets that can be blocked: every relay keeps all of them in memory and reads them every few seconds.
    package static let blockedSecretsMax = 1_000
    /// Items that a secret's history keeps; the oldest are removed.
    package static let historyItemsMax = 1_000
    /// Bytes of a history item's title, and of its text; `HistoryItem` shortens them.
    package static let historyTextBytes = 4_096
    /// Bytes of a server's identifier.
    package static let serverIDBytes = 255
    /// Bytes of a sealed notification.
    package static let sealedBytes = 4_096
    /// Bytes of the name of an agent's client; `AgentUse` shortens it.
    package static let agentClientBytes = 64
    /// Maximum pushes whose result one row of the delivery log has.
    package static let pushesPerDelivery = 900
    /// Rows of a secret's log among which pushes to a device are counted.
    package static let countedDeliveriesMax = 5_000
    /// The maximum number of those whose further pushes are counted, too: a row names up to 900, in 64 KB.
    package static let countedSharedDeliveriesMax = 1_000
    /// Bytes of a schedule's name.
    package static let scheduleNameBytes = 128
    /// Bytes of a schedule's rule.
    package static let scheduleRuleBytes = 1_024
    /// Bytes of a schedule's content.
    package static let scheduleContentBytes = 32_768
    /// Bytes of the word for an occurrence's outcome.
    package static let scheduleOutcomeBytes = 32
    /// Bytes of an access token's name.
    package static let accessTokenNameBytes = 128
    /// Parts of the tables of schedules and of queued pushes, by the first bits of the secret's hash; a power of two.
    package static let buckets = 64
    /// Parts that a claim searches if the oldest due schedules aren't all that are due.
    package static let scheduleBucketsPerClaim = 8
    /// Milliseconds by which the clocks of relays that share a database may differ; later times come from a wrong clock.
    package static let clockSkewMax: EpochMilliseconds = 60 * 1_000
    /// Milliseconds that a schedule can be leased.
    package static let scheduleLeaseMax: EpochMilliseconds = 15 * 60 * 1_000
    /// Bytes of the action that a person chose in reply to an event.
    package static let replyActionBytes = 64
    /// Actions that an event offers for replies.
    package static let replyActionsMax = 8
    /// Bytes of an event's actions, separated by spaces.
    package static let replyActionsBytes = replyActionsMax * (replyActionBytes + 1) - 1
    /// Bytes of the text that a person typed in reply to an event.
    package static let replyTextBytes = 4_096
    /// Bytes of the outcome of a reply.
    package static let replyOutcomeBytes = 32
    /// Bytes of the reason of a reply's outcome.
    package static let replyReasonBytes = 64
    /// Acknowledgements of events, and replies, that are kept for a secret; the oldest are removed.
    package static let acknowledgementsMax = 1_000
    /// Bytes of the name of an app's type of activity attributes.
    package static let attributesTypeBytes = 128
    /// Live Activities of a secret; the oldest are removed.
    package static let activitiesMax = 64
    /// Milliseconds within which a session's activity is started on a device at most once.
    package static let activityStartInterval: EpochMilliseconds = 60 * 60 * 1_000
    /// Activities started on a device in that time, about what iOS allows.
    package static let activityStartsMax = 10
    /// Bytes of a stored answer.
    package static let answerBytes = 65_536
    /// Rows of a secret's log that are searched first for the last delivery to a device.
    static let lastDeliveriesPage = 20
    /// Rows of a secret's log that are searched for the last delivery to a device.
    package static let lastDeliveriesWindow = 1_000
    /// Milliseconds that an event's receipt is kept: the same `eventID` within 24 h gets the first answer again.
    package static let receiptLifetime: EpochMilliseconds = 24 * 60 * 60 * 1_000
    /// Milliseconds that an event's receipt can be leased.
    package static let receiptLeaseMax: EpochMilliseconds = 15 * 60 * 1_000
    /// Minimum rows for an engine's bulk protocol; fewer rows fit one statement and so one round trip.
    package static let loadedRowsMin = 17
    /// Due rows that a claim looks at in one query.
    package static let claimWindow = 512
    /// Due rows of each part of the queue that a claim looks at to find out which parts have a backlog.
    package static let claimSample = 8
    /// Parts with a backlog that a claim looks into.
    package static let claimBucketsMax = 8
    /// Locks of secrets that one call removes, each in its own transaction.
    package static let locksRemovedPerCall = 100
    /// Secrets whose rows a claim's next query can leave out.
    package static let claimExcludedSecretsMax = 32
}

/// Milliseconds since 1970-01-01 00:00:00 UTC, the unit of all times in the tables.
package typealias EpochMilliseconds = Int64

/// Refuses or cuts texts that one of the databases couldn't store unchanged.
enum StorageText {
    /// Refuses texts that are too long or contain a NUL, which Postgres can't store and which ends C strings.
    static func check(_ text: String, field: String, bytes limit: Int) throws(StorageError) {
        let utf8 = text.utf8Span.span
        guard utf8.count <= limit else { throw .invalidValue(field: field) }
        for index in utf8.indices where utf8[index] == 0 { throw .invalidValue(field: field) }
    }

    /// The text without NULs, cut to a number of bytes between two characters.
    static func cut(_ text: String, bytes limit: Int) -> String {
        guard text.utf8.count > limit || text.utf8.contains(0) else { return text }
        var kept = ""
        var bytes = 0
        for character in text where !character.utf8.contains(0) {
            bytes += character.utf8.count
            guard bytes <= limit else { break }
            kept.append(character)
        }
        return kept
    }
}
