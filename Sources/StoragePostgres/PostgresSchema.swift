internal import Storage

/// The schema and the dialect of PostgreSQL.
///
/// Under every default collation, texts are equal only if their bytes are; where their order matters, statements use
/// `COLLATE "C"`. CockroachDB doesn't support it as a property of columns.
enum PostgresSchema {
    static let dialect = SQLDialect(
        begin: "BEGIN ISOLATION LEVEL READ COMMITTED",
        countTables: SchemaDialect.countTables(in: "current_schema()"),
        bytewise: { "\($0) COLLATE \"C\"" })

    static let schema = SchemaDialect(
        currentSchema: "current_schema()",
        clock: "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)",
        statements: { step, adopting in statements(of: step, adopting: adopting) },
        createVersionTable: """
            CREATE TABLE IF NOT EXISTS relay_schema (
                version integer NOT NULL PRIMARY KEY,
                summary varchar(255) NOT NULL
            )
            """)

    private static func statements(of step: SchemaStep, adopting: Bool) -> [String] {
        switch step {
        case .devicesAndDeliveries: (adopting ? adopted : devicesAndDeliveries) + [secretLock]
        case .eventReceipts: eventReceipts
        case .pendingPushes: pendingPushes
        case .deviceDetails: deviceDetails
        case .blockedSecrets: [blockedSecret]
        case .installations: [installations]
        case .history: history
        case .agentUse: agentUse
        case .schedules: schedules
        case .replies: replies
        case .pushTokens: pushTokens
        case .pushBuckets: pushBuckets
        case .eventActions: ["ALTER TABLE event_receipt ADD COLUMN IF NOT EXISTS actions varchar(519)"]
        case .pushEvents: [pushEvents]
        case .replyResults: [replyResults]
        }
    }
}

// MARK: - The steps

extension PostgresSchema {
    /// Widens the columns of OpenCode's tables as the relay requires; no row is rewritten.
    ///
    /// Without the index, two processes could register a device twice.
    private static let adopted = [
        """
        ALTER TABLE device_registration
            ALTER COLUMN id TYPE varchar(36),
            ALTER COLUMN secret_hash TYPE varchar(64),
            ALTER COLUMN device_token TYPE varchar(400)
        """,
        """
        CREATE UNIQUE INDEX IF NOT EXISTS device_registration_secret_token_idx
            ON device_registration (secret_hash, device_token)
        """,
        """
        ALTER TABLE delivery_log
            ALTER COLUMN id TYPE varchar(36),
            ALTER COLUMN secret_hash TYPE varchar(64),
            ALTER COLUMN error TYPE varchar(1024)
        """,
        "CREATE INDEX IF NOT EXISTS delivery_log_created_at_idx ON delivery_log (created_at)",
        """
        CREATE INDEX IF NOT EXISTS delivery_log_secret_created_idx
            ON delivery_log (secret_hash, created_at, id)
        """,
    ]

    /// Keys begin with the column by which engines shard, so none has to be unique across shards.
    private static let devicesAndDeliveries = [
        """
        CREATE TABLE IF NOT EXISTS device_registration (
            id varchar(36) NOT NULL,
            secret_hash varchar(64) NOT NULL,
            device_token varchar(400) NOT NULL,
            bundle_id varchar(255) NOT NULL,
            apns_env varchar(16) NOT NULL DEFAULT 'production',
            created_at bigint NOT NULL,
            updated_at bigint NOT NULL,
            PRIMARY KEY (secret_hash, device_token)
        )
        """,
        """
        CREATE TABLE IF NOT EXISTS delivery_log (
            id varchar(36) NOT NULL,
            secret_hash varchar(64) NOT NULL,
            event_type varchar(32) NOT NULL,
            session_id varchar(255) NOT NULL,
            status varchar(16) NOT NULL,
            error varchar(1024),
            created_at bigint NOT NULL,
            PRIMARY KEY (secret_hash, created_at, id)
        )
        """,
        "CREATE INDEX IF NOT EXISTS delivery_log_created_at_idx ON delivery_log (created_at)",
    ]

    private static let secretLock = """
        CREATE TABLE IF NOT EXISTS secret_lock (
            secret_hash varchar(64) NOT NULL PRIMARY KEY,
            registrations bigint NOT NULL
        )
        """

    private static let eventReceipts = [
        """
        CREATE TABLE IF NOT EXISTS event_receipt (
            secret_hash varchar(64) NOT NULL,
            event_id varchar(128) NOT NULL,
            content_digest varchar(64) NOT NULL,
            claim_id varchar(36) NOT NULL,
            lease_until bigint NOT NULL,
            answer bytea,
            expires_at bigint NOT NULL,
            PRIMARY KEY (secret_hash, event_id)
        )
        """,
        "CREATE INDEX IF NOT EXISTS event_receipt_expires_at_idx ON event_receipt (expires_at)",
    ]

    private static let pendingPushes = [
        """
        CREATE TABLE IF NOT EXISTS pending_push (
            secret_hash varchar(64) NOT NULL,
            id varchar(36) NOT NULL,
            device_id varchar(36) NOT NULL,
            event_type varchar(32) NOT NULL,
            session_id varchar(255) NOT NULL,
            payload bytea NOT NULL,
            push_type varchar(16) NOT NULL,
            priority integer NOT NULL,
            collapse_id varchar(64),
            attempts integer NOT NULL,
            due_at bigint NOT NULL,
            lease_owner varchar(36),
            created_at bigint NOT NULL,
            expires_at bigint NOT NULL,
            PRIMARY KEY (secret_hash, id)
        )
        """,
        "CREATE INDEX IF NOT EXISTS pending_push_due_at_idx ON pending_push (due_at, secret_hash, id)",
        "CREATE INDEX IF NOT EXISTS pending_push_device_idx ON pending_push (secret_hash, device_id)",
        // Every claimed push looks up its device by ID.
        "CREATE INDEX IF NOT EXISTS device_registration_secret_id_idx ON device_registration (secret_hash, id)",
    ]

    private static let deviceDetails = [
        """
        ALTER TABLE device_registration
            ADD COLUMN IF NOT EXISTS device_name varchar(128),
            ADD COLUMN IF NOT EXISTS device_model varchar(128),
            ADD COLUMN IF NOT EXISTS os_version varchar(128),
            ADD COLUMN IF NOT EXISTS app_version varchar(128),
            ADD COLUMN IF NOT EXISTS preferences text
        """,
        "ALTER TABLE delivery_log ADD COLUMN IF NOT EXISTS device_id varchar(36)",
    ]

    private static let blockedSecret = """
        CREATE TABLE IF NOT EXISTS blocked_secret (
            secret_hash varchar(64) NOT NULL PRIMARY KEY,
            created_at bigint NOT NULL,
            note varchar(255)
        )
        """

    /// Needs no index: a secret has few devices, which are found by the primary key.
    private static let installations = """
        ALTER TABLE device_registration
            ADD COLUMN IF NOT EXISTS sealed_versions varchar(64),
            ADD COLUMN IF NOT EXISTS installation_id varchar(64)
        """

    private static let agentUse = [
        """
        CREATE TABLE IF NOT EXISTS agent_use (
            secret_hash varchar(64) NOT NULL PRIMARY KEY,
            used_at bigint NOT NULL,
            client varchar(64)
        )
        """,
        "CREATE INDEX IF NOT EXISTS agent_use_used_at_idx ON agent_use (used_at)",
    ]

    private static let replies = [
        """
        CREATE TABLE IF NOT EXISTS event_reply (
            secret_hash varchar(64) NOT NULL,
            event_id varchar(128) NOT NULL,
            acked_at bigint NOT NULL,
            replied_at bigint,
            action varchar(64),
            reply_text text,
            sealed text,
            expires_at bigint NOT NULL,
            PRIMARY KEY (secret_hash, event_id)
        )
        """,
        "CREATE INDEX IF NOT EXISTS event_reply_acked_at_idx ON event_reply (secret_hash, acked_at)",
        "CREATE INDEX IF NOT EXISTS event_reply_expires_at_idx ON event_reply (expires_at)",
        "ALTER TABLE history_item ADD COLUMN IF NOT EXISTS acked_at bigint",
    ]

    private static let pushTokens = [
        """
        CREATE TABLE IF NOT EXISTS push_token (
            secret_hash varchar(64) NOT NULL,
            kind varchar(16) NOT NULL,
            session_id varchar(255) NOT NULL,
            token varchar(400) NOT NULL,
            id varchar(36) NOT NULL,
            device_id varchar(36),
            bundle_id varchar(255) NOT NULL,
            apns_env varchar(16) NOT NULL,
            attributes_type varchar(128),
            created_at bigint NOT NULL,
            updated_at bigint NOT NULL,
            expires_at bigint,
            stamp bigint NOT NULL,
            state_at bigint NOT NULL,
            progress_at bigint NOT NULL,
            ended integer NOT NULL,
            PRIMARY KEY (secret_hash, kind, session_id, token)
        )
        """,
        "CREATE INDEX IF NOT EXISTS push_token_expires_at_idx ON push_token (expires_at)",
    ]

    private static let pushBuckets = [
        "ALTER TABLE pending_push ADD COLUMN IF NOT EXISTS bucket integer NOT NULL DEFAULT 0",
        "CREATE INDEX IF NOT EXISTS pending_push_bucket_idx ON pending_push (bucket, due_at)",
    ]

    private static let pushEvents = """
        ALTER TABLE pending_push
            ADD COLUMN IF NOT EXISTS event_id varchar(128), ADD COLUMN IF NOT EXISTS kind varchar(32)
        """

    private static let replyResults = """
        ALTER TABLE event_reply
            ADD COLUMN IF NOT EXISTS result_at bigint, ADD COLUMN IF NOT EXISTS outcome varchar(32),
            ADD COLUMN IF NOT EXISTS reason varchar(64), ADD COLUMN IF NOT EXISTS sealed_result text
        """

    private static let history = [
        """
        CREATE TABLE IF NOT EXISTS history_item (
            id varchar(36) NOT NULL,
            secret_hash varchar(64) NOT NULL,
            event_id varchar(128),
            event_type varchar(32) NOT NULL,
            session_id varchar(255) NOT NULL,
            server_id varchar(255),
            created_at bigint NOT NULL,
            read_at bigint,
            title text,
            body text,
            sealed text,
            PRIMARY KEY (secret_hash, created_at, id)
        )
        """,
        "CREATE INDEX IF NOT EXISTS history_item_created_at_idx ON history_item (created_at)",
        "CREATE INDEX IF NOT EXISTS history_item_event_idx ON history_item (secret_hash, event_id)",
        "CREATE INDEX IF NOT EXISTS history_item_read_at_idx ON history_item (secret_hash, read_at)",
    ]

    private static let schedules = [
        """
        CREATE TABLE IF NOT EXISTS schedule (
            secret_hash varchar(64) NOT NULL,
            id varchar(36) NOT NULL,
            kind varchar(16) NOT NULL,
            name varchar(128),
            rule varchar(1024),
            content text NOT NULL,
            bucket integer NOT NULL,
            next_at bigint NOT NULL,
            due_at bigint NOT NULL,
            ends_at bigint,
            late_by bigint NOT NULL,
            spread bigint NOT NULL,
            created_at bigint NOT NULL,
            last_at bigint,
            last_outcome varchar(32),
            skipped bigint NOT NULL,
            lease_owner varchar(36),
            lease_until bigint NOT NULL,
            PRIMARY KEY (secret_hash, id)
        )
        """,
        "CREATE UNIQUE INDEX IF NOT EXISTS schedule_name_idx ON schedule (secret_hash, kind, name)",
        "CREATE INDEX IF NOT EXISTS schedule_due_at_idx ON schedule (due_at)",
        "CREATE INDEX IF NOT EXISTS schedule_bucket_idx ON schedule (bucket, due_at)",
    ]
}
