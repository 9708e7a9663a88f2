extension SchemaTable {
    /// All tables that contain secrets' rows.
    package static let all = [
        deviceRegistration, deliveryLog, eventReceipt, pendingPush, blockedSecret, historyItem, agentUse,
        schedule, eventReply, pushToken, secretLock, relayKey, accessToken,
    ]

    /// The tables that `relay copy` copies: all but `secret_lock`, whose rows serve only as locks.
    package static let copied = all.filter { $0.rowsPerPage > 0 }

    /// The steps applied to a database; the only table without secrets' rows.
    package static let relaySchema = SchemaTable(
        name: "relay_schema", key: ["version"],
        columns: [.column("version", .small), .column("summary", .text(255))], hasRowIDs: true)

    /// Stores a secret's devices next to each other, under the key that look-ups use.
    ///
    /// In SQLite, this halves the table's size and the time of a look-up compared with OpenCode's table, whose primary
    /// key is `id`. Claiming a push looks up its device by ID. A secret has few devices, so installations need no
    /// index.
    private static let deviceRegistration = SchemaTable(
        name: "device_registration", key: ["secret_hash", "device_token"],
        columns: [
            .column("id", .id), .column("secret_hash", .hash), .column("device_token", .key(400)),
            .column("bundle_id", .text(255)),
            Column(name: "apns_env", kind: .text(16), initial: "'production'"),
            .column("created_at", .integer), .column("updated_at", .integer),
            .null("device_name", .text(128)), .null("device_model", .text(128)),
            .null("os_version", .text(128)), .null("app_version", .text(128)),
            .null("preferences", .longText), .null("sealed_versions", .ascii(64)),
            .null("installation_id", .key(64)),
            Column(name: "web_push", kind: .longText, isNullable: true, since: .webPush),
        ],
        indices: [Index(name: "device_registration_secret_id_idx", columns: ["secret_hash", "id"])],
        rowsPerPage: 1_024)

    /// In SQLite, the log grows at its end and is pruned at its beginning, with one index instead of three.
    private static let deliveryLog = SchemaTable(
        name: "delivery_log", key: ["secret_hash", "created_at", "id"],
        columns: [
            .column("id", .id), .column("secret_hash", .hash), .column("event_type", .text(32)),
            .column("session_id", .text(255)), .column("status", .text(16)), .null("error", .text(1_024)),
            .column("created_at", .integer), .null("device_id", .id),
            Column(name: "others", kind: .longText, isNullable: true, since: .sharedLogRows),
            Column(name: "event_id", kind: .key(128), isNullable: true, since: .loggedEvents),
        ],
        indices: [
            Index(name: "delivery_log_created_at_idx", columns: ["created_at"], engines: .servers),
            Index(
                name: "delivery_log_secret_hash_idx", columns: ["secret_hash", "created_at", "id"],
                engines: .sqlite),
        ],
        sqliteKey: ["created_at", "id"], rowsPerPage: 2_048, isLog: true)

    private static let eventReceipt = SchemaTable(
        name: "event_receipt", key: ["secret_hash", "event_id"],
        columns: [
            .column("secret_hash", .hash), .column("event_id", .key(128)), .column("content_digest", .hash),
            .column("claim_id", .id), .column("lease_until", .integer), .null("answer", .largeBlob),
            .column("expires_at", .integer), .null("actions", .ascii(519)),
        ],
        indices: [Index(name: "event_receipt_expires_at_idx", columns: ["expires_at"])], rowsPerPage: 128)

    private static let pendingPush = SchemaTable(
        name: "pending_push", key: ["secret_hash", "id"],
        columns: [
            .column("secret_hash", .hash), .column("id", .id), .column("device_id", .id),
            .column("event_type", .text(32)), .column("session_id", .text(255)), .column("payload", .blob),
            .column("push_type", .text(16)), .column("priority", .small), .null("collapse_id", .text(64)),
            .column("attempts", .small), .column("due_at", .integer), .null("lease_owner", .id),
            .column("created_at", .integer), .column("expires_at", .integer),
            Column(name: "bucket", kind: .small, initial: "0"), .null("event_id", .key(128)),
            .null("kind", .ascii(32)),
        ],
        indices: [
            Index(name: "pending_push_due_at_idx", columns: ["due_at", "secret_hash", "id"]),
            Index(name: "pending_push_device_idx", columns: ["secret_hash", "device_id"]),
            Index(name: "pending_push_bucket_idx", columns: ["bucket", "due_at"], engines: .servers),
            Index(
                name: "pending_push_bucket_idx", columns: ["bucket", "due_at", "secret_hash", "id"],
                engines: .sqlite),
        ],
        hasRowIDs: true, rowsPerPage: 512)

    private static let blockedSecret = SchemaTable(
        name: "blocked_secret", key: ["secret_hash"],
        columns: [
            .column("secret_hash", .hash), .column("created_at", .integer), .null("note", .text(255)),
        ],
        rowsPerPage: 1_024, isCoordinators: true)

    private static let historyItem = SchemaTable(
        name: "history_item", key: ["secret_hash", "created_at", "id"],
        columns: [
            .column("id", .id), .column("secret_hash", .hash), .null("event_id", .key(128)),
            .column("event_type", .text(32)), .column("session_id", .text(255)),
            .null("server_id", .text(255)), .column("created_at", .integer), .null("read_at", .integer),
            .null("title", .longText), .null("body", .longText), .null("sealed", .longText),
            .null("acked_at", .integer),
        ],
        indices: [
            Index(name: "history_item_created_at_idx", columns: ["created_at"]),
            Index(name: "history_item_event_idx", columns: ["secret_hash", "event_id"]),
            Index(name: "history_item_read_at_idx", columns: ["secret_hash", "read_at"]),
        ],
        hasRowIDs: true, rowsPerPage: 256)

    private static let agentUse = SchemaTable(
        name: "agent_use", key: ["secret_hash"],
        columns: [
            .column("secret_hash", .hash), .column("used_at", .integer), .null("client", .text(64)),
        ],
        indices: [Index(name: "agent_use_used_at_idx", columns: ["used_at"])], rowsPerPage: 1_024)

    private static let schedule = SchemaTable(
        name: "schedule", key: ["secret_hash", "id"],
        columns: [
            .column("secret_hash", .hash), .column("id", .id), .column("kind", .ascii(16)),
            .null("name", .key(128)), .null("rule", .text(1_024)), .column("content", .longText),
            .column("bucket", .small), .column("next_at", .integer), .column("due_at", .integer),
            .null("ends_at", .integer), .column("late_by", .integer), .column("spread", .integer),
            .column("created_at", .integer), .null("last_at", .integer), .null("last_outcome", .text(32)),
            .column("skipped", .integer), .null("lease_owner", .id), .column("lease_until", .integer),
        ],
        indices: [
            Index(name: "schedule_name_idx", columns: ["secret_hash", "kind", "name"], isUnique: true),
            Index(name: "schedule_due_at_idx", columns: ["due_at"]),
            Index(name: "schedule_bucket_idx", columns: ["bucket", "due_at"]),
        ],
        hasRowIDs: true, rowsPerPage: 128)

    private static let eventReply = SchemaTable(
        name: "event_reply", key: ["secret_hash", "event_id"],
        columns: [
            .column("secret_hash", .hash), .column("event_id", .key(128)), .column("acked_at", .integer),
            .null("replied_at", .integer), .null("action", .text(64)), .null("reply_text", .longText),
            .null("sealed", .longText), .column("expires_at", .integer), .null("result_at", .integer),
            .null("outcome", .ascii(32)), .null("reason", .ascii(64)), .null("sealed_result", .longText),
        ],
        indices: [
            Index(name: "event_reply_acked_at_idx", columns: ["secret_hash", "acked_at"]),
            Index(name: "event_reply_expires_at_idx", columns: ["expires_at"]),
        ],
        hasRowIDs: true, rowsPerPage: 256)

    private static let pushToken = SchemaTable(
        name: "push_token", key: ["secret_hash", "kind", "session_id", "token"],
        columns: [
            .column("secret_hash", .hash), .column("kind", .ascii(16)), .column("session_id", .key(255)),
            .column("token", .key(400)), .column("id", .id), .null("device_id", .id),
            .column("bundle_id", .text(255)), .column("apns_env", .text(16)),
            .null("attributes_type", .text(128)), .column("created_at", .integer),
            .column("updated_at", .integer), .null("expires_at", .integer), .column("stamp", .integer),
            .column("state_at", .integer), .column("progress_at", .integer), .column("ended", .small),
        ],
        indices: [Index(name: "push_token_expires_at_idx", columns: ["expires_at"])], rowsPerPage: 1_024)

    /// The keys shared by all relays that use the database.
    ///
    /// Each key is stored under the hash of its name, so that the table can be sharded like the others.
    private static let relayKey = SchemaTable(
        name: "relay_key", key: ["secret_hash", "name"],
        columns: [
            .column("secret_hash", .hash), .column("name", .key(32)), .column("text", .longText),
            .column("created_at", .integer),
        ],
        since: .webPush, rowsPerPage: 1_024)

    /// Access tokens, each stored under its secret's hash and under its own digest.
    private static let accessToken = SchemaTable(
        name: "access_token", key: ["secret_hash", "token_hash"],
        columns: [
            .column("secret_hash", .hash), .column("token_hash", .hash), .column("tenant_hash", .hash),
            .column("id", .id), .column("scope", .ascii(16)), .column("name", .key(128)),
            .column("created_at", .integer), .null("expires_at", .integer), .null("used_at", .integer),
        ],
        indices: [Index(name: "access_token_expires_at_idx", columns: ["expires_at"])],
        since: .accessTokens, rowsPerPage: 1_024)

    /// A row per secret that the secret's registrations update, so that they wait for one another.
    private static let secretLock = SchemaTable(
        name: "secret_lock", key: ["secret_hash"],
        columns: [.column("secret_hash", .hash), .column("registrations", .integer)], engines: .servers)
}
