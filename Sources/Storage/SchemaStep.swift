/// The schema's migration steps, in order; the raw value is the version that the database has after the step.
///
/// A driver writes the SQL of each step in one exhaustive `switch`, so a step that is added here doesn't compile until
/// every driver has it. A released step is never edited: later changes are new steps.
package enum SchemaStep: Int, CaseIterable, Sendable {
    /// `device_registration` and `delivery_log`: created, or adopted as they are from OpenCode's relay.
    case devicesAndDeliveries = 1
    /// `event_receipt`: the answers that are repeated for the same `eventID`.
    case eventReceipts = 2
    /// `pending_push`: the pushes waiting to be retried.
    case pendingPushes = 3
    /// Device details and `delivery_log.device_id`: nullable columns, and an index to find a device's
    /// last delivery.
    case deviceDetails = 4
    /// `blocked_secret`: the secrets that relays refuse.
    case blockedSecrets = 5
    /// `sealed_versions` and `installation_id` of `device_registration`: nullable columns.
    case installations = 6
    /// `history_item`: what was sent, for devices to list.
    case history = 7
    /// `agent_use`: when agents last used a secret.
    case agentUse = 8
    /// `schedule`: what is sent later, once or repeatedly.
    case schedules = 9
    /// `event_reply`: acknowledgements of events and replies to them; `history_item.acked_at`.
    case replies = 10
    /// `push_token`: tokens of Live Activities, widgets and controls.
    case pushTokens = 11
    /// `pending_push.bucket`: the parts of the queue that claims begin with.
    ///
    /// Rows stored before this step, or by an older relay, are in part 0 whatever their hash.
    case pushBuckets = 12
    /// `event_receipt.actions`: the actions that replies to the event may choose.
    case eventActions = 13
    /// `event_id` and `kind` of `pending_push`: nullable columns.
    ///
    /// Rows stored before this step, or by an older relay, are sent even if their events were acknowledged.
    case pushEvents = 14
    /// `result_at`, `outcome`, `reason` and `sealed_result` of `event_reply`: nullable columns.
    case replyResults = 15

    /// What the step does, for `relay migrate`.
    package var summary: String {
        switch self {
        case .devicesAndDeliveries: "device_registration and delivery_log: make, or adopt existing ones"
        case .eventReceipts: "event_receipt: answers kept for 24 hours by eventID"
        case .pendingPushes: "pending_push: pushes that wait to be sent again"
        case .deviceDetails:
            "device_registration and delivery_log: columns for names, preferences and devices"
        case .blockedSecrets: "blocked_secret: secrets whose events and registrations are refused"
        case .installations: "device_registration: columns for installations and sealed notifications"
        case .history: "history_item: what was sent, with RELAY_HISTORY_DAYS"
        case .agentUse: "agent_use: when agents last used a secret"
        case .schedules: "schedule: what is sent later"
        case .replies: "event_reply: acknowledgements of events and replies; a column of history_item"
        case .pushTokens: "push_token: tokens of Live Activities, widgets and controls"
        case .pushBuckets: "pending_push: a column and an index by which relays share the queue"
        case .eventActions: "event_receipt: a column for the actions that replies may have"
        case .pushEvents: "pending_push: columns for the events and kinds of pushes"
        case .replyResults: "event_reply: columns for the results of replies"
        }
    }

    /// The version that this program needs.
    package static var current: Int { allCases.last?.rawValue ?? 0 }

    /// Selects the schema's version; requires the table `relay_schema`.
    package static let versionQuery = "SELECT coalesce(max(version), 0) FROM relay_schema"

    /// The steps that a database at `version` still needs; throws `schemaTooNew` if a newer program has used it.
    package static func pending(after version: Int) throws(StorageError) -> [SchemaStep] {
        guard version <= current else { throw .schemaTooNew(found: version, known: current) }
        return allCases.filter { $0.rawValue > version }
    }
}
