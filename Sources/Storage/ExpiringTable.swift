/// A table whose rows are removed when they expire.
///
/// Each table has an index on its `time` column.
package enum ExpiringTable: String, CaseIterable, Sendable {
    case deliveries = "delivery_log"
    case receipts = "event_receipt"
    case history = "history_item"
    case agentUses = "agent_use"
    case replies = "event_reply"
    case tokens = "push_token"
    case accessTokens = "access_token"

    /// The column that determines when a row is removed; rows in which it is NULL are never removed.
    var time: String {
        switch self {
        case .deliveries, .history: "created_at"
        case .agentUses: "used_at"
        case .receipts, .replies, .tokens, .accessTokens: "expires_at"
        }
    }

    /// The columns of the primary key.
    var key: [String] {
        switch self {
        case .deliveries, .history: ["secret_hash", "created_at", "id"]
        case .agentUses: ["secret_hash"]
        case .receipts, .replies: ["secret_hash", "event_id"]
        case .accessTokens: ["secret_hash", "token_hash"]
        case .tokens: ["secret_hash", "kind", "session_id", "token"]
        }
    }
}

/// The result of one step of removing rows.
package struct Pruning: Hashable, Sendable {
    /// How many rows this call removed.
    package var removed: Int
    /// The time of the first row that is left, at which the next step starts; nil if no rows are left.
    package var next: EpochMilliseconds?

    /// Creates a result.
    package init(removed: Int, next: EpochMilliseconds? = nil) {
        self.removed = removed
        self.next = next
    }
}

/// Removal of expired rows.
package protocol PruningStorage: Sendable {
    /// Removes the oldest of a table's rows whose time is at or after `start` and before `end`, at most `limit`.
    ///
    /// This is one step of a walk along the time index; small steps let other writers proceed in between. Begin with
    /// `.min` and call again with the result's `next` as `start` until it is nil, so that a step doesn't scan entries
    /// that earlier steps removed. Any number of callers may do this at the same time; rows that another caller has
    /// already removed aren't counted.
    func prune(
        _ table: ExpiringTable, from start: EpochMilliseconds, before end: EpochMilliseconds, limit: Int
    ) async throws(StorageError) -> Pruning
}
