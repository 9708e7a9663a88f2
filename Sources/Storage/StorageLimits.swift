/// The limits on stored values and queries; storing a value over its limit throws `StorageError.invalidValue`.
///
/// Each byte limit is the size of the narrowest column among the drivers' tables, so that no driver truncates a value.
package enum StorageLimits {
    /// Maximum length in bytes of a device token (hexadecimal text).
    package static let tokenBytes = 400
    /// Maximum length in bytes of a bundle identifier.
    package static let bundleIDBytes = 255
    /// Maximum length in bytes of an event's type.
    package static let eventTypeBytes = 32
    /// Maximum length in bytes of a session's ID.
    package static let sessionIDBytes = 255
    /// Maximum length in bytes of the ID that a caller gave an event.
    package static let eventIDBytes = 128
    /// Maximum length in bytes of a delivery's error text; `Delivery` truncates longer text.
    package static let errorBytes = 1_024
    /// Maximum length in bytes of a row's ID: a UUID as text.
    package static let idBytes = 36
    /// Maximum length in bytes of a queued push's `apns-push-type`.
    package static let pushTypeBytes = 16
    /// Maximum length in bytes of a queued push's `apns-collapse-id`.
    package static let collapseIDBytes = 64
    /// Maximum size in bytes of a queued push's payload: APNs' limit for all push types except `voip`.
    package static let payloadBytes = 4_096
    /// Maximum length in bytes of each of a device's name, model, OS version and app version.
    package static let deviceDetailBytes = 128
    /// Maximum length in bytes of a device's preferences.
    package static let preferencesBytes = 4_096
    /// Maximum length in bytes of the list of sealed-notification versions that a device can open.
    package static let sealedVersionsBytes = 64
    /// Maximum length in bytes of the ID that an app gave its installation.
    package static let installationIDBytes = 64
    /// Maximum length in bytes of a device's Web Push subscription.
    package static let webPushBytes = 4_096
    /// Maximum length in bytes of a key shared by all relays that use a database.
    package static let relayKeyBytes = 1_024
    /// Maximum length in bytes of the name of a key shared by all relays that use a database.
    package static let relayKeyNameBytes = 32
    /// Maximum length in bytes of the operator's note about a blocked secret.
    package static let blockNoteBytes = 255
    /// Maximum number of blocked secrets: every relay keeps all of them in memory and rereads them every few seconds.
    package static let blockedSecretsMax = 1_000
    /// Maximum number of items in a secret's history; the oldest are removed.
    package static let historyItemsMax = 1_000
    /// Maximum length in bytes of a history item's title or body; `HistoryItem` truncates longer text.
    package static let historyTextBytes = 4_096
    /// Maximum length in bytes of a server's ID.
    package static let serverIDBytes = 255
    /// Maximum length in bytes of a sealed notification.
    package static let sealedBytes = 4_096
    /// Maximum length in bytes of the name of an agent's client; `AgentUse` truncates longer names.
    package static let agentClientBytes = 64
    /// Maximum number of pushes per delivery log row.
    package static let pushesPerDelivery = 900
    /// Maximum number of log rows per hash in which a secret's sent pushes are counted.
    package static let countedDeliveriesMax = 5_000
    /// Maximum number of log rows per hash whose pushes after the first also count: a row lists up to 900, in 64 KB.
    package static let countedSharedDeliveriesMax = 1_000
    /// Maximum length in bytes of a schedule's name.
    package static let scheduleNameBytes = 128
    /// Maximum length in bytes of a schedule's rule.
    package static let scheduleRuleBytes = 1_024
    /// Maximum length in bytes of a schedule's content.
    package static let scheduleContentBytes = 32_768
    /// Maximum length in bytes of the word for an occurrence's outcome.
    package static let scheduleOutcomeBytes = 32
    /// Maximum length in bytes of an access token's name.
    package static let accessTokenNameBytes = 128
    /// Number of parts into which the schedule and queue tables are divided by the hashes' first bits; a power of two.
    package static let buckets = 64
    /// Maximum number of parts that a claim of schedules searches if one query can't return all due schedules.
    package static let scheduleBucketsPerClaim = 8
    /// Maximum clock skew in milliseconds between relays that share a database; beyond it, a clock is wrong.
    package static let clockSkewMax: EpochMilliseconds = 60 * 1_000
    /// Maximum duration in milliseconds of a schedule's lease.
    package static let scheduleLeaseMax: EpochMilliseconds = 15 * 60 * 1_000
    /// Maximum length in bytes of the action that a person chose in reply to an event.
    package static let replyActionBytes = 64
    /// Maximum number of reply actions per event.
    package static let replyActionsMax = 8
    /// Maximum length in bytes of an event's reply actions, separated by spaces.
    package static let replyActionsBytes = replyActionsMax * (replyActionBytes + 1) - 1
    /// Maximum length in bytes of the text that a person typed in reply to an event.
    package static let replyTextBytes = 4_096
    /// Maximum length in bytes of the outcome of a reply.
    package static let replyOutcomeBytes = 32
    /// Maximum length in bytes of the reason for a reply's outcome.
    package static let replyReasonBytes = 64
    /// Maximum number of acknowledgements and replies kept per secret; the oldest are removed.
    package static let acknowledgementsMax = 1_000
    /// Maximum length in bytes of the name of an app's activity attributes type.
    package static let attributesTypeBytes = 128
    /// Maximum number of Live Activities per secret; the oldest are removed.
    package static let activitiesMax = 64
    /// Milliseconds within which a session's activity is started on a device at most once.
    package static let activityStartInterval: EpochMilliseconds = 60 * 60 * 1_000
    /// Maximum activities started on a device within ``activityStartInterval``, about as many as iOS allows.
    package static let activityStartsMax = 10
    /// Maximum size in bytes of the stored answer to an event.
    package static let answerBytes = 65_536
    /// Number of a secret's newest log rows that are searched first for the last delivery to a device.
    static let lastDeliveriesPage = 20
    /// Maximum number of a secret's newest log rows that are searched for the last delivery to a device.
    package static let lastDeliveriesWindow = 1_000
    /// Milliseconds for which an event's receipt is kept: repeating an `eventID` within 24 h returns the first answer.
    package static let receiptLifetime: EpochMilliseconds = 24 * 60 * 60 * 1_000
    /// Maximum duration in milliseconds of the lease on an event's receipt.
    package static let receiptLeaseMax: EpochMilliseconds = 15 * 60 * 1_000
    /// Minimum number of rows for an engine's bulk protocol; fewer rows take one statement and one round trip.
    package static let loadedRowsMin = 17
    /// Maximum number of due rows that a claim reads in one query.
    package static let claimWindow = 512
    /// Number of due rows that a claim reads from each part of the queue to find out which parts have a backlog.
    package static let claimSample = 8
    /// Maximum number of parts with a backlog that a claim searches.
    package static let claimBucketsMax = 8
    /// Maximum number of secrets' locks that one call removes, each in its own transaction.
    package static let locksRemovedPerCall = 100
    /// Maximum number of secrets whose rows a claim's next query can leave out.
    package static let claimExcludedSecretsMax = 32
}

/// Milliseconds since 1970-01-01 00:00:00 UTC, the unit of all times in the tables.
package typealias EpochMilliseconds = Int64

/// Rejects or truncates text that one of the databases couldn't store unchanged.
enum StorageText {
    /// Rejects text that is too long or contains a NUL, which Postgres can't store and which ends C strings.
    static func check(_ text: String, field: String, bytes limit: Int) throws(StorageError) {
        let utf8 = text.utf8Span.span
        guard utf8.count <= limit else { throw .invalidValue(field: field) }
        for index in utf8.indices where utf8[index] == 0 { throw .invalidValue(field: field) }
    }

    /// The text without NULs, truncated at a character boundary to at most `limit` bytes.
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
