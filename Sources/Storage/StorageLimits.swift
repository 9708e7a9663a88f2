/// The bounds of what every driver stores; a value past its bound is refused as `StorageError.invalidValue`.
///
/// They are the sizes of the narrowest column among the drivers' tables, so that no driver cuts a value short.
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
    /// Bytes of a waiting push's payload, which is APNs' bound for all push types but `voip`.
    package static let payloadBytes = 4_096
    /// Bytes of each text that a device tells of itself.
    package static let deviceDetailBytes = 128
    /// Bytes of a device's preferences.
    package static let preferencesBytes = 4_096
    /// Bytes of a stored answer.
    package static let answerBytes = 65_536
    /// Rows of a secret's log among which the last delivery to a device is looked for.
    package static let lastDeliveriesWindow = 1_000
    /// Milliseconds that an event's receipt is kept: the same `eventID` within 24 h gets the first answer again.
    package static let receiptLifetime: EpochMilliseconds = 24 * 60 * 60 * 1_000
    /// Milliseconds that an event's receipt can be leased.
    package static let receiptLeaseMax: EpochMilliseconds = 15 * 60 * 1_000
    /// Due rows that a claim looks at in one query.
    package static let claimWindow = 256
    /// Secrets whose rows a claim's next query can leave out.
    package static let claimExcludedSecretsMax = 32
}

/// Milliseconds since 1970-01-01 00:00:00 UTC, as every time in the tables is kept.
package typealias EpochMilliseconds = Int64

/// Refuses texts that one of the databases could not keep as they are.
enum StorageText {
    /// Refuses an over-long text and one with a NUL, which Postgres can't store and C interfaces cut at.
    static func check(_ text: String, field: String, bytes limit: Int) throws(StorageError) {
        let utf8 = text.utf8Span.span
        guard utf8.count <= limit else { throw .invalidValue(field: field) }
        for index in utf8.indices where utf8[index] == 0 { throw .invalidValue(field: field) }
    }
}
