internal import Storage

/// The schema in MySQL's dialect: each statement commits by itself and is harmless when repeated.
///
/// Keys are bytes, or hexadecimal texts and IDs in `ascii_bin`: Unicode collations either treat `a` and `a ` as equal
/// or don't exist on every engine.
enum MySQLSchema {
    /// The options after each table's columns.
    static let options =
        " ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin ROW_FORMAT = DYNAMIC"

    /// The statements of a step.
    static func statements(of step: SchemaStep, adopting: Bool) -> [String] {
        switch step {
        case .devicesAndDeliveries: (adopting ? adopted : devicesAndDeliveries) + [secretLock]
        case .eventReceipts: [eventReceipt]
        case .pendingPushes: pendingPushes
        case .deviceDetails: deviceDetails
        case .blockedSecrets: [blockedSecret]
        case .installations: [installations]
        case .history: [historyItem]
        case .agentUse: [agentUse]
        case .schedules: [schedule]
        case .replies: replies
        case .pushTokens: [pushTokens]
        case .pushBuckets: pushBuckets
        case .eventActions: ["ALTER TABLE event_receipt ADD COLUMN actions \(ascii("varchar(519)")) NULL"]
        case .pushEvents: [pushEvents]
        case .replyResults: [replyResults]
        }
    }

    private static func ascii(_ type: String) -> String {
        "\(type) CHARACTER SET ascii COLLATE ascii_bin"
    }

    /// A secret's devices and log rows are stored next to each other, in the order in which they are read.
    private static let devicesAndDeliveries = [
        """
        CREATE TABLE IF NOT EXISTS device_registration (
            id \(ascii("char(36)")) NOT NULL,
            secret_hash \(ascii("char(64)")) NOT NULL,
            device_token varbinary(400) NOT NULL,
            bundle_id varchar(255) NOT NULL,
            apns_env varchar(16) NOT NULL DEFAULT 'production',
            created_at bigint NOT NULL,
            updated_at bigint NOT NULL,
            PRIMARY KEY (secret_hash, device_token))
        """ + options,
        """
        CREATE TABLE IF NOT EXISTS delivery_log (
            id \(ascii("char(36)")) NOT NULL,
            secret_hash \(ascii("char(64)")) NOT NULL,
            event_type varchar(32) NOT NULL,
            session_id varchar(255) NOT NULL,
            status varchar(16) NOT NULL,
            error varchar(1024) NULL,
            created_at bigint NOT NULL,
            PRIMARY KEY (secret_hash, created_at, id),
            INDEX delivery_log_created_at_idx (created_at))
        """ + options,
    ]

    /// Widens the columns of OpenCode's tables to match the new ones; OpenCode's relay can still use them.
    ///
    /// Their collation was the server's default, under which different keys can be equal.
    private static let adopted = [
        """
        ALTER TABLE device_registration
            MODIFY id \(ascii("char(36)")) NOT NULL,
            MODIFY secret_hash \(ascii("char(64)")) NOT NULL,
            MODIFY device_token varbinary(400) NOT NULL,
            MODIFY bundle_id varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
            MODIFY apns_env varchar(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'production'
        """,
        // Without this index, two processes could register a device twice.
        """
        CREATE UNIQUE INDEX device_registration_secret_token_idx
            ON device_registration (secret_hash, device_token)
        """,
        """
        ALTER TABLE delivery_log
            MODIFY id \(ascii("char(36)")) NOT NULL,
            MODIFY secret_hash \(ascii("char(64)")) NOT NULL,
            MODIFY event_type varchar(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
            MODIFY session_id varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
            MODIFY status varchar(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
            MODIFY error varchar(1024) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL
        """,
        "CREATE INDEX delivery_log_secret_time_idx ON delivery_log (secret_hash, created_at, id)",
        "CREATE INDEX delivery_log_created_at_idx ON delivery_log (created_at)",
    ]

    private static let secretLock = """
        CREATE TABLE IF NOT EXISTS secret_lock (
            secret_hash \(ascii("char(64)")) NOT NULL PRIMARY KEY,
            registrations bigint NOT NULL)
        """ + options

    private static let eventReceipt = """
        CREATE TABLE IF NOT EXISTS event_receipt (
            secret_hash \(ascii("char(64)")) NOT NULL,
            event_id varbinary(128) NOT NULL,
            content_digest \(ascii("char(64)")) NOT NULL,
            claim_id \(ascii("char(36)")) NOT NULL,
            lease_until bigint NOT NULL,
            answer mediumblob NULL,
            expires_at bigint NOT NULL,
            PRIMARY KEY (secret_hash, event_id),
            INDEX event_receipt_expires_at_idx (expires_at))
        """ + options

    private static let pendingPushes = [
        """
        CREATE TABLE IF NOT EXISTS pending_push (
            secret_hash \(ascii("char(64)")) NOT NULL,
            id \(ascii("char(36)")) NOT NULL,
            device_id \(ascii("char(36)")) NOT NULL,
            event_type varchar(32) NOT NULL,
            session_id varchar(255) NOT NULL,
            payload blob NOT NULL,
            push_type varchar(16) NOT NULL,
            priority int NOT NULL,
            collapse_id varchar(64) NULL,
            attempts int NOT NULL,
            due_at bigint NOT NULL,
            lease_owner \(ascii("char(36)")) NULL,
            created_at bigint NOT NULL,
            expires_at bigint NOT NULL,
            PRIMARY KEY (secret_hash, id),
            INDEX pending_push_due_at_idx (due_at, secret_hash, id),
            INDEX pending_push_device_idx (secret_hash, device_id))
        """ + options,
        // Every claimed push looks up its device by ID.
        "CREATE INDEX device_registration_secret_id_idx ON device_registration (secret_hash, id)",
    ]

    private static let pushBuckets = [
        "ALTER TABLE pending_push ADD COLUMN bucket int NOT NULL DEFAULT 0",
        "CREATE INDEX pending_push_bucket_idx ON pending_push (bucket, due_at)",
    ]

    private static let pushEvents = """
        ALTER TABLE pending_push
            ADD COLUMN event_id varbinary(128) NULL, ADD COLUMN kind \(ascii("varchar(32)")) NULL
        """

    private static let replyResults = """
        ALTER TABLE event_reply
            ADD COLUMN result_at bigint NULL, ADD COLUMN outcome \(ascii("varchar(32)")) NULL,
            ADD COLUMN reason \(ascii("varchar(64)")) NULL, ADD COLUMN sealed_result text NULL
        """

    /// Each `ALTER TABLE` adds all its columns or none, so if one exists, all do.
    private static let deviceDetails = [
        """
        ALTER TABLE device_registration
            ADD COLUMN device_name varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
            ADD COLUMN device_model varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
            ADD COLUMN os_version varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
            ADD COLUMN app_version varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
            ADD COLUMN preferences text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL
        """,
        "ALTER TABLE delivery_log ADD COLUMN device_id \(ascii("char(36)")) NULL",
    ]

    private static let blockedSecret = """
        CREATE TABLE IF NOT EXISTS blocked_secret (
            secret_hash \(ascii("char(64)")) NOT NULL PRIMARY KEY,
            created_at bigint NOT NULL,
            note varchar(255) NULL)
        """ + options

    /// Needs no index: a secret has few devices, which are stored next to each other.
    private static let installations = """
        ALTER TABLE device_registration
            ADD COLUMN sealed_versions \(ascii("varchar(64)")) NULL,
            ADD COLUMN installation_id varbinary(64) NULL
        """

    private static let agentUse = """
        CREATE TABLE IF NOT EXISTS agent_use (
            secret_hash \(ascii("char(64)")) NOT NULL PRIMARY KEY,
            used_at bigint NOT NULL,
            client varchar(64) NULL,
            INDEX agent_use_used_at_idx (used_at))
        """ + options

    private static let replies = [
        """
        CREATE TABLE IF NOT EXISTS event_reply (
            secret_hash \(ascii("char(64)")) NOT NULL,
            event_id varbinary(128) NOT NULL,
            acked_at bigint NOT NULL,
            replied_at bigint NULL,
            action varchar(64) NULL,
            reply_text text NULL,
            sealed text NULL,
            expires_at bigint NOT NULL,
            PRIMARY KEY (secret_hash, event_id),
            INDEX event_reply_acked_at_idx (secret_hash, acked_at),
            INDEX event_reply_expires_at_idx (expires_at))
        """ + options,
        "ALTER TABLE history_item ADD COLUMN acked_at bigint NULL",
    ]

    private static let pushTokens = """
        CREATE TABLE IF NOT EXISTS push_token (
            secret_hash \(ascii("char(64)")) NOT NULL,
            kind \(ascii("varchar(16)")) NOT NULL,
            session_id varbinary(255) NOT NULL,
            token varbinary(400) NOT NULL,
            id \(ascii("char(36)")) NOT NULL,
            device_id \(ascii("char(36)")) NULL,
            bundle_id varchar(255) NOT NULL,
            apns_env varchar(16) NOT NULL,
            attributes_type varchar(128) NULL,
            created_at bigint NOT NULL,
            updated_at bigint NOT NULL,
            expires_at bigint NULL,
            stamp bigint NOT NULL,
            state_at bigint NOT NULL,
            progress_at bigint NOT NULL,
            ended int NOT NULL,
            PRIMARY KEY (secret_hash, kind, session_id, token),
            INDEX push_token_expires_at_idx (expires_at))
        """ + options

    private static let historyItem = """
        CREATE TABLE IF NOT EXISTS history_item (
            id \(ascii("char(36)")) NOT NULL,
            secret_hash \(ascii("char(64)")) NOT NULL,
            event_id varbinary(128) NULL,
            event_type varchar(32) NOT NULL,
            session_id varchar(255) NOT NULL,
            server_id varchar(255) NULL,
            created_at bigint NOT NULL,
            read_at bigint NULL,
            title text NULL,
            body text NULL,
            sealed text NULL,
            PRIMARY KEY (secret_hash, created_at, id),
            INDEX history_item_created_at_idx (created_at),
            INDEX history_item_event_idx (secret_hash, event_id),
            INDEX history_item_read_at_idx (secret_hash, read_at))
        """ + options

    private static let schedule = """
        CREATE TABLE IF NOT EXISTS schedule (
            secret_hash \(ascii("char(64)")) NOT NULL,
            id \(ascii("char(36)")) NOT NULL,
            kind \(ascii("varchar(16)")) NOT NULL,
            name varbinary(128) NULL,
            rule varchar(1024) NULL,
            content text NOT NULL,
            bucket int NOT NULL,
            next_at bigint NOT NULL,
            due_at bigint NOT NULL,
            ends_at bigint NULL,
            late_by bigint NOT NULL,
            spread bigint NOT NULL,
            created_at bigint NOT NULL,
            last_at bigint NULL,
            last_outcome varchar(32) NULL,
            skipped bigint NOT NULL,
            lease_owner \(ascii("char(36)")) NULL,
            lease_until bigint NOT NULL,
            PRIMARY KEY (secret_hash, id),
            UNIQUE INDEX schedule_name_idx (secret_hash, kind, name),
            INDEX schedule_due_at_idx (due_at),
            INDEX schedule_bucket_idx (bucket, due_at))
        """ + options
}
