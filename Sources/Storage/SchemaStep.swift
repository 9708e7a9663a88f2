/// The steps of the schema, in order; the raw value is the version that a database has after it.
///
/// A driver writes the SQL of each step in one exhaustive `switch`, so a step that is added here doesn't compile until
/// every driver has it. A step that was released is never edited: what comes after it is a new step.
package enum SchemaStep: Int, CaseIterable, Sendable {
    /// `device_registration` and `delivery_log`, made or, where OpenCode's relay made them, adopted as they stand.
    case devicesAndDeliveries = 1
    /// `event_receipt`: the answers that are given again for an `eventID`.
    case eventReceipts = 2
    /// `pending_push`: the pushes that wait to be sent again.
    case pendingPushes = 3
    /// What devices tell of themselves, and `delivery_log.device_id`: nullable columns and an index to find a device's
    /// last delivery by.
    case deviceDetails = 4

    /// What the step does, for `relay migrate`.
    package var summary: String {
        switch self {
        case .devicesAndDeliveries: "device_registration and delivery_log: make, or adopt existing ones"
        case .eventReceipts: "event_receipt: answers kept for 24 hours by eventID"
        case .pendingPushes: "pending_push: pushes that wait to be sent again"
        case .deviceDetails:
            "device_registration and delivery_log: columns for names, preferences and devices"
        }
    }

    /// The version that this program needs.
    package static var current: Int { allCases.last?.rawValue ?? 0 }

    /// The steps that a database of `version` still needs; `schemaTooNew` when a newer program has used it.
    package static func pending(after version: Int) throws(StorageError) -> [SchemaStep] {
        guard version <= current else { throw .schemaTooNew(found: version, known: current) }
        return allCases.filter { $0.rawValue > version }
    }
}
