/// A table as seen by `relay copy`, the same for every driver.
package struct TransferTable: Hashable, Sendable {
    /// One of its columns.
    package struct Column: Hashable, Sendable {
        /// Its name.
        package let name: String
        /// The schema step that created it.
        package let since: SchemaStep

        /// The column's value in a database without the step.
        package var missing: String { since == .pushBuckets ? "0" : "NULL" }
    }

    /// The table's name.
    package let name: String
    /// The step that created it.
    package let since: SchemaStep
    /// The columns of a unique key, in the order of an index in every driver's schema.
    package let key: [String]
    /// All of its columns.
    package let columns: [Column]
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

    /// The key of a row as bytes, because texts with different bytes can be equal.
    func keyBytes(of row: [SQLValue]) -> [UInt8] {
        TransferCoding.encode(key(of: row))
    }

    /// All tables to copy.
    ///
    /// Excludes `relay_schema`, which is created with the tables, and `secret_lock`, whose rows only serve as locks.
    package static let all = [
        TransferTable(
            "device_registration", .devicesAndDeliveries, key: ["secret_hash", "device_token"],
            [
                "id", "secret_hash", "device_token", "bundle_id", "apns_env", "created_at", "updated_at",
            ], (.deviceDetails, ["device_name", "device_model", "os_version", "app_version", "preferences"]),
            (.installations, ["sealed_versions", "installation_id"]), rowsPerPage: 1_024),
        TransferTable(
            "delivery_log", .devicesAndDeliveries, key: ["secret_hash", "created_at", "id"],
            ["id", "secret_hash", "event_type", "session_id", "status", "error", "created_at"],
            (.deviceDetails, ["device_id"]), isLog: true, rowsPerPage: 2_048),
        TransferTable(
            "event_receipt", .eventReceipts, key: ["secret_hash", "event_id"],
            [
                "secret_hash", "event_id", "content_digest", "claim_id", "lease_until", "answer",
                "expires_at",
            ], (.eventActions, ["actions"]), rowsPerPage: 128),
        TransferTable(
            "pending_push", .pendingPushes, key: ["secret_hash", "id"],
            [
                "secret_hash", "id", "device_id", "event_type", "session_id", "payload", "push_type",
                "priority", "collapse_id", "attempts", "due_at", "lease_owner", "created_at", "expires_at",
            ], (.pushBuckets, ["bucket"]), (.pushEvents, ["event_id", "kind"]), rowsPerPage: 512),
        TransferTable(
            "blocked_secret", .blockedSecrets, key: ["secret_hash"], ["secret_hash", "created_at", "note"],
            rowsPerPage: 1_024),
        TransferTable(
            "history_item", .history, key: ["secret_hash", "created_at", "id"],
            [
                "id", "secret_hash", "event_id", "event_type", "session_id", "server_id", "created_at",
                "read_at", "title", "body", "sealed",
            ], (.replies, ["acked_at"]), rowsPerPage: 256),
        TransferTable(
            "agent_use", .agentUse, key: ["secret_hash"], ["secret_hash", "used_at", "client"],
            rowsPerPage: 1_024),
        TransferTable(
            "schedule", .schedules, key: ["secret_hash", "id"], SQLStatements.scheduleColumns,
            rowsPerPage: 128),
        TransferTable(
            "event_reply", .replies, key: ["secret_hash", "event_id"],
            [
                "secret_hash", "event_id", "acked_at", "replied_at", "action", "reply_text", "sealed",
                "expires_at",
            ], (.replyResults, ["result_at", "outcome", "reason", "sealed_result"]), rowsPerPage: 256),
        TransferTable(
            "push_token", .pushTokens, key: ["secret_hash", "kind", "session_id", "token"],
            [
                "secret_hash", "kind", "session_id", "token", "id", "device_id", "bundle_id", "apns_env",
                "attributes_type", "created_at", "updated_at", "expires_at", "stamp", "state_at",
                "progress_at", "ended",
            ], rowsPerPage: 1_024),
    ]

    private init(
        _ name: String, _ since: SchemaStep, key: [String], _ columns: [String],
        _ later: (step: SchemaStep, columns: [String])..., isLog: Bool = false, rowsPerPage: Int
    ) {
        self.name = name
        self.since = since
        self.key = key
        let all =
            columns.map { Column(name: $0, since: since) }
            + later.flatMap { later in later.columns.map { Column(name: $0, since: later.step) } }
        self.columns = all
        keyPositions = key.compactMap { name in all.firstIndex { $0.name == name } }
        self.isLog = isLog
        self.rowsPerPage = rowsPerPage
    }
}

/// The number of rows and a checksum that doesn't depend on their order, because engines sort texts differently.
package struct TransferChecksum: Hashable, Sendable, CustomStringConvertible {
    /// The rows that were added.
    package private(set) var rows = 0
    private var sum = Words256()

    /// Of no rows.
    package init() {}

    /// Adds a row's SHA-256 to the sum, modulo 2^64 in each of four words; returns the added words.
    @discardableResult
    mutating func add(_ row: [SQLValue]) -> Words256 {
        let words = Digest256(of: TransferCoding.encode(row)).words
        rows += 1
        sum &+= words
        return words
    }

    /// Removes a row that was added; returns the subtracted words.
    @discardableResult
    mutating func remove(_ row: [SQLValue]) -> Words256 {
        let words = Digest256(of: TransferCoding.encode(row)).words
        rows -= 1
        for word in 0..<Words256.count { sum[word] &-= words[word] }
        return words
    }

    /// Sixteen hexadecimal characters of the sum, for a person to compare.
    package var description: String {
        let word = sum[0] ^ sum[1] ^ sum[2] ^ sum[3]
        let digits = String(word, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension TransferChecksum {
    /// The checksum as values for a mark.
    var values: [SQLValue] {
        [.integer(Int64(rows))] + (0..<4).map { .integer(Int64(bitPattern: sum[$0])) }
    }

    /// Decodes a checksum from values; nil if they aren't one.
    init?(_ values: [SQLValue]) {
        guard values.count == 5, case .integer(let rows) = values[0] else { return nil }
        self.rows = Int(rows)
        for index in 0..<4 {
            guard case .integer(let word) = values[index + 1] else { return nil }
            sum[index] = UInt64(bitPattern: word)
        }
    }
}
