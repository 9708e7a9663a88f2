internal import Storage

/// The schema and the dialect of PostgreSQL.
enum PostgresSchema {
    static let dialect = SQLDialect(
        begin: "BEGIN ISOLATION LEVEL READ COMMITTED",
        currentSchema: "current_schema()",
        bytewise: { "\($0) COLLATE \"C\"" },
        insertUnlessPresent: { "INSERT \($0) ON CONFLICT DO NOTHING" },
        deleteFirst: { deletion in
            let key = deletion.key.joined(separator: ", ")
            return """
                DELETE FROM \(deletion.table) WHERE (\(key)) IN
                    (SELECT \(key) FROM \(deletion.table) WHERE \(deletion.condition)
                     ORDER BY \(deletion.order) LIMIT ?)
                """
        },
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
        }
    }
}

// MARK: - The steps

extension PostgresSchema {
    /// OpenCode's tables get the width and the order of bytes that the relay counts on; no row is rewritten.
    ///
    /// Without the index two processes could have registered one device twice.
    private static let adopted = [
        """
        ALTER TABLE device_registration
            ALTER COLUMN id TYPE varchar(36) COLLATE "C",
            ALTER COLUMN secret_hash TYPE varchar(64) COLLATE "C",
            ALTER COLUMN device_token TYPE varchar(400) COLLATE "C"
        """,
        """
        CREATE UNIQUE INDEX IF NOT EXISTS device_registration_secret_token_idx
            ON device_registration (secret_hash, device_token)
        """,
        """
        ALTER TABLE delivery_log
            ALTER COLUMN id TYPE varchar(36) COLLATE "C",
            ALTER COLUMN secret_hash TYPE varchar(64) COLLATE "C",
            ALTER COLUMN error TYPE varchar(1024)
        """,
        "CREATE INDEX IF NOT EXISTS delivery_log_created_at_idx ON delivery_log (created_at)",
        """
        CREATE INDEX IF NOT EXISTS delivery_log_secret_created_idx
            ON delivery_log (secret_hash, created_at, id)
        """,
    ]

    /// Keys begin with what engines shard by, and hold nothing that they would have to keep unique across shards.
    private static let devicesAndDeliveries = [
        """
        CREATE TABLE device_registration (
            id varchar(36) COLLATE "C" NOT NULL,
            secret_hash varchar(64) COLLATE "C" NOT NULL,
            device_token varchar(400) COLLATE "C" NOT NULL,
            bundle_id varchar(255) COLLATE "C" NOT NULL,
            apns_env varchar(16) NOT NULL DEFAULT 'production',
            created_at bigint NOT NULL,
            updated_at bigint NOT NULL,
            PRIMARY KEY (secret_hash, device_token)
        )
        """,
        """
        CREATE TABLE delivery_log (
            id varchar(36) COLLATE "C" NOT NULL,
            secret_hash varchar(64) COLLATE "C" NOT NULL,
            event_type varchar(32) NOT NULL,
            session_id varchar(255) NOT NULL,
            status varchar(16) NOT NULL,
            error varchar(1024),
            created_at bigint NOT NULL,
            PRIMARY KEY (secret_hash, created_at, id)
        )
        """,
        "CREATE INDEX delivery_log_created_at_idx ON delivery_log (created_at)",
    ]

    private static let secretLock = """
        CREATE TABLE secret_lock (
            secret_hash varchar(64) COLLATE "C" NOT NULL PRIMARY KEY,
            registrations bigint NOT NULL
        )
        """

    private static let eventReceipts = [
        """
        CREATE TABLE event_receipt (
            secret_hash varchar(64) COLLATE "C" NOT NULL,
            event_id varchar(128) COLLATE "C" NOT NULL,
            content_digest varchar(64) NOT NULL,
            claim_id varchar(36) NOT NULL,
            lease_until bigint NOT NULL,
            answer bytea,
            expires_at bigint NOT NULL,
            PRIMARY KEY (secret_hash, event_id)
        )
        """,
        "CREATE INDEX event_receipt_expires_at_idx ON event_receipt (expires_at)",
    ]

    private static let pendingPushes = [
        """
        CREATE TABLE pending_push (
            secret_hash varchar(64) COLLATE "C" NOT NULL,
            id varchar(36) COLLATE "C" NOT NULL,
            device_id varchar(36) COLLATE "C" NOT NULL,
            event_type varchar(32) NOT NULL,
            session_id varchar(255) NOT NULL,
            payload bytea NOT NULL,
            push_type varchar(16) NOT NULL,
            priority integer NOT NULL,
            collapse_id varchar(64),
            attempts integer NOT NULL,
            due_at bigint NOT NULL,
            lease_owner varchar(36) COLLATE "C",
            created_at bigint NOT NULL,
            expires_at bigint NOT NULL,
            PRIMARY KEY (secret_hash, id)
        )
        """,
        "CREATE INDEX pending_push_due_at_idx ON pending_push (due_at, secret_hash, id)",
        "CREATE INDEX pending_push_device_idx ON pending_push (secret_hash, device_id)",
        // Each claimed push looks its device up by id.
        "CREATE INDEX device_registration_secret_id_idx ON device_registration (secret_hash, id)",
    ]

    private static let deviceDetails = [
        """
        ALTER TABLE device_registration
            ADD COLUMN device_name varchar(128),
            ADD COLUMN device_model varchar(128),
            ADD COLUMN os_version varchar(128),
            ADD COLUMN app_version varchar(128),
            ADD COLUMN preferences text
        """,
        "ALTER TABLE delivery_log ADD COLUMN device_id varchar(36) COLLATE \"C\"",
    ]
}
