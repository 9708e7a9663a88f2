/// A table as seen by `relay copy`, the same for every driver.
package struct TransferTable: Hashable, Sendable {
    /// The table's name.
    package let name: String
    /// The columns of a unique key, in the order of an index in every driver's schema.
    package let key: [String]
    /// All of its columns.
    package let columns: [String]
    /// Whether rows never change after they are inserted.
    package let isLog: Bool
    /// Rows that are read and written at once: at most a few megabytes.
    package let rowsPerPage: Int

    /// The positions of the key's columns among all columns.
    private let keyPositions: [Int]

    /// The key of a row with all columns.
    package func key(of row: [SQLValue]) -> [SQLValue] {
        keyPositions.map { row[$0] }
    }

    /// All tables to copy.
    ///
    /// Excludes `relay_schema`, which is created with the tables, and `secret_lock`, whose rows only serve as locks.
    package static let all = [
        TransferTable(
            "device_registration", key: ["secret_hash", "device_token"],
            [
                "id", "secret_hash", "device_token", "bundle_id", "apns_env", "created_at", "updated_at",
                "device_name", "device_model", "os_version", "app_version", "preferences", "sealed_versions",
                "installation_id",
            ], rowsPerPage: 1_024),
        TransferTable(
            "delivery_log", key: ["secret_hash", "created_at", "id"],
            ["id", "secret_hash", "event_type", "session_id", "status", "error", "created_at", "device_id"],
            isLog: true, rowsPerPage: 2_048),
        TransferTable(
            "event_receipt", key: ["secret_hash", "event_id"],
            [
                "secret_hash", "event_id", "content_digest", "claim_id", "lease_until", "answer",
                "expires_at", "actions",
            ], rowsPerPage: 128),
        TransferTable(
            "pending_push", key: ["secret_hash", "id"],
            [
                "secret_hash", "id", "device_id", "event_type", "session_id", "payload", "push_type",
                "priority", "collapse_id", "attempts", "due_at", "lease_owner", "created_at", "expires_at",
                "bucket", "event_id", "kind",
            ], rowsPerPage: 512),
        TransferTable(
            "blocked_secret", key: ["secret_hash"], ["secret_hash", "created_at", "note"],
            rowsPerPage: 1_024),
        TransferTable(
            "history_item", key: ["secret_hash", "created_at", "id"],
            [
                "id", "secret_hash", "event_id", "event_type", "session_id", "server_id", "created_at",
                "read_at", "title", "body", "sealed", "acked_at",
            ], rowsPerPage: 256),
        TransferTable(
            "agent_use", key: ["secret_hash"], ["secret_hash", "used_at", "client"],
            rowsPerPage: 1_024),
        TransferTable(
            "schedule", key: ["secret_hash", "id"], SQLStatements.scheduleColumns,
            rowsPerPage: 128),
        TransferTable(
            "event_reply", key: ["secret_hash", "event_id"],
            [
                "secret_hash", "event_id", "acked_at", "replied_at", "action", "reply_text", "sealed",
                "expires_at", "result_at", "outcome", "reason", "sealed_result",
            ], rowsPerPage: 256),
        TransferTable(
            "push_token", key: ["secret_hash", "kind", "session_id", "token"],
            [
                "secret_hash", "kind", "session_id", "token", "id", "device_id", "bundle_id", "apns_env",
                "attributes_type", "created_at", "updated_at", "expires_at", "stamp", "state_at",
                "progress_at", "ended",
            ], rowsPerPage: 1_024),
    ]

    private init(
        _ name: String, key: [String], _ columns: [String], isLog: Bool = false, rowsPerPage: Int
    ) {
        self.name = name
        self.key = key
        self.columns = columns
        keyPositions = key.compactMap { name in columns.firstIndex(of: name) }
        self.isLog = isLog
        self.rowsPerPage = rowsPerPage
    }
}
