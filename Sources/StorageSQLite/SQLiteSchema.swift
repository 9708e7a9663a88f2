internal import Storage

/// The schema in SQLite's dialect: the file's owner, the applied steps, and the steps themselves.
enum SQLiteSchema {
    /// `APNR`: the `PRAGMA application_id` of a relay's file.
    static let applicationID: Int64 = 0x4150_4E52

    /// Determines whose file it is without changing it; throws `foreignDatabase` if it belongs to another program.
    static func inspect(_ connection: SQLiteConnection) throws(StorageError) -> SchemaState {
        let identifier = try connection.integer("PRAGMA application_id") ?? 0
        if identifier == applicationID { return .relay(version: try version(connection)) }
        guard identifier == 0 else {
            throw .foreignDatabase(logDetail: "its application_id is \(identifier)")
        }
        let names = try connection.texts(
            "SELECT name FROM sqlite_schema WHERE type <> 'index' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
        )
        if names.isEmpty { return .empty }
        guard names == SchemaState.adoptedColumns.keys.sorted() else {
            throw .foreignDatabase(logDetail: "it has other tables than a relay's")
        }
        for (table, columns) in SchemaState.adoptedColumns {
            let found = try connection.texts("SELECT name FROM pragma_table_info('\(table)') ORDER BY name")
            guard found == columns.sorted() else {
                throw .foreignDatabase(logDetail: "its table \(table) has other columns than a relay's")
            }
        }
        return .adoptable
    }

    /// The version that the steps have reached; requires a relay's file.
    static func version(_ connection: SQLiteConnection) throws(StorageError) -> Int {
        try connection.integer(SchemaStep.versionQuery).map { Int($0) } ?? 0
    }

    /// Refuses a file with missing steps, or with more steps than this program knows.
    static func requireCurrent(_ connection: SQLiteConnection) throws(StorageError) {
        let version = try inspect(connection).version
        guard try SchemaStep.pending(after: version).isEmpty else {
            throw .schemaTooOld(found: version, needed: SchemaStep.current)
        }
    }

    /// Applies the missing steps, all or none, and returns them.
    ///
    /// The caller is the only relay that writes, and `BEGIN IMMEDIATE` excludes other programs.
    static func migrate(_ connection: SQLiteConnection) throws(StorageError) -> [SchemaStep] {
        try connection.execute("BEGIN IMMEDIATE")
        do throws(StorageError) {
            let state = try inspect(connection)
            let missing = try pending(after: state)
            for pending in missing {
                for statement in pending.statements { try connection.execute(statement) }
                let done = try connection.prepare("INSERT INTO relay_schema (version, summary) VALUES (?, ?)")
                try done.execute {
                    $0.integer(pending.step.rawValue)
                    $0.text(pending.step.summary)
                }
            }
            if state == .adoptable { try checkAdopted(connection) }
            try connection.execute("COMMIT")
            return missing.map(\.step)
        } catch {
            if connection.isInTransaction { try? connection.execute("ROLLBACK") }
            throw error
        }
    }

    /// The missing steps with their statements.
    static func pending(after state: SchemaState) throws(StorageError) -> [PendingStep] {
        try SchemaStep.pending(after: state.version).map { step in
            let first = step == SchemaStep.allCases.first ? becomingOurs : []
            return PendingStep(step: step, statements: first + sql(of: step, from: state))
        }
    }

    /// Marks a file as a relay's.
    private static let becomingOurs = [
        "PRAGMA application_id = \(applicationID)",
        "CREATE TABLE IF NOT EXISTS relay_schema (version INTEGER PRIMARY KEY, summary TEXT NOT NULL) STRICT",
    ]

    private static func sql(of step: SchemaStep, from state: SchemaState) -> [String] {
        switch step {
        case .devicesAndDeliveries: state == .adoptable ? adoptedIndex : devicesAndDeliveries
        case .eventReceipts: eventReceipts
        case .pendingPushes: pendingPushes
        case .deviceDetails: deviceDetails
        case .blockedSecrets: blockedSecrets
        case .installations: installations
        case .history: history
        case .agentUse: agentUse
        case .schedules: schedules
        case .replies: replies
        case .pushTokens: pushTokens
        case .pushBuckets: pushBuckets
        case .eventActions: ["ALTER TABLE event_receipt ADD COLUMN actions TEXT"]
        case .pushEvents: pushEvents
        case .replyResults: replyResults
        }
    }

    /// Whether the file is the target of a copy that isn't finished.
    static func holdsUnfinishedCopy(_ connection: SQLiteConnection) throws(StorageError) -> Bool {
        let marks = TransferSide.marksTable
        let count = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '\(marks)'"
        guard try connection.integer(count) != 0 else { return false }
        return try connection.integer("SELECT count(*) FROM \(marks)") != 0
    }

    /// An adopted table may not compare its keys byte for byte, which would mix up devices.
    private static func checkAdopted(_ connection: SQLiteConnection) throws(StorageError) {
        let columns = try connection.texts(
            """
            SELECT name || ' ' || coll FROM pragma_index_xinfo('device_registration_secret_token_idx')
            WHERE key ORDER BY seqno
            """)
        guard columns == ["secret_hash BINARY", "device_token BINARY"] else {
            throw .foreignDatabase(logDetail: "device_registration's unique index is on \(columns)")
        }
    }
}

// MARK: - The steps

extension SQLiteSchema {
    /// An adopted file has the tables; without the index, two processes could register a device twice.
    private static let adoptedIndex = [
        """
        CREATE UNIQUE INDEX IF NOT EXISTS device_registration_secret_token_idx
            ON device_registration (secret_hash, device_token)
        """
    ]

    /// A new file stores rows in the order in which they are used.
    ///
    /// A secret's devices are stored next to each other, under the key of look-ups: this halves the size and the time
    /// of a look-up compared with OpenCode's table, whose primary key is `id`. The log grows at its end and is pruned
    /// at its beginning, with one index instead of three.
    private static let devicesAndDeliveries = [
        """
        CREATE TABLE device_registration (
            id TEXT NOT NULL,
            secret_hash TEXT NOT NULL,
            device_token TEXT NOT NULL,
            bundle_id TEXT NOT NULL,
            apns_env TEXT NOT NULL DEFAULT 'production',
            created_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL,
            PRIMARY KEY (secret_hash, device_token)
        ) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE delivery_log (
            id TEXT NOT NULL,
            secret_hash TEXT NOT NULL,
            event_type TEXT NOT NULL,
            session_id TEXT NOT NULL,
            status TEXT NOT NULL,
            error TEXT,
            created_at INTEGER NOT NULL,
            PRIMARY KEY (created_at, id)
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE INDEX delivery_log_secret_hash_idx ON delivery_log (secret_hash, created_at, id)",
    ]

    private static let eventReceipts = [
        """
        CREATE TABLE event_receipt (
            secret_hash TEXT NOT NULL,
            event_id TEXT NOT NULL,
            content_digest TEXT NOT NULL,
            claim_id TEXT NOT NULL,
            lease_until INTEGER NOT NULL,
            answer BLOB,
            expires_at INTEGER NOT NULL,
            PRIMARY KEY (secret_hash, event_id)
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE INDEX event_receipt_expires_at_idx ON event_receipt (expires_at)",
    ]

    private static let replies = [
        """
        CREATE TABLE event_reply (
            secret_hash TEXT NOT NULL,
            event_id TEXT NOT NULL,
            acked_at INTEGER NOT NULL,
            replied_at INTEGER,
            action TEXT,
            reply_text TEXT,
            sealed TEXT,
            expires_at INTEGER NOT NULL,
            PRIMARY KEY (secret_hash, event_id)
        ) STRICT
        """,
        "CREATE INDEX event_reply_acked_at_idx ON event_reply (secret_hash, acked_at)",
        "CREATE INDEX event_reply_expires_at_idx ON event_reply (expires_at)",
        "ALTER TABLE history_item ADD COLUMN acked_at INTEGER",
    ]

    private static let pushTokens = [
        """
        CREATE TABLE push_token (
            secret_hash TEXT NOT NULL,
            kind TEXT NOT NULL,
            session_id TEXT NOT NULL,
            token TEXT NOT NULL,
            id TEXT NOT NULL,
            device_id TEXT,
            bundle_id TEXT NOT NULL,
            apns_env TEXT NOT NULL,
            attributes_type TEXT,
            created_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL,
            expires_at INTEGER,
            stamp INTEGER NOT NULL,
            state_at INTEGER NOT NULL,
            progress_at INTEGER NOT NULL,
            ended INTEGER NOT NULL,
            PRIMARY KEY (secret_hash, kind, session_id, token)
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE INDEX push_token_expires_at_idx ON push_token (expires_at)",
    ]

    /// A table with rowids, so that counts and scans read small indices instead of payloads.
    private static let pendingPushes = [
        """
        CREATE TABLE pending_push (
            secret_hash TEXT NOT NULL,
            id TEXT NOT NULL,
            device_id TEXT NOT NULL,
            event_type TEXT NOT NULL,
            session_id TEXT NOT NULL,
            payload BLOB NOT NULL,
            push_type TEXT NOT NULL,
            priority INTEGER NOT NULL,
            collapse_id TEXT,
            attempts INTEGER NOT NULL,
            due_at INTEGER NOT NULL,
            lease_owner TEXT,
            created_at INTEGER NOT NULL,
            expires_at INTEGER NOT NULL,
            PRIMARY KEY (secret_hash, id)
        ) STRICT
        """,
        "CREATE INDEX pending_push_due_at_idx ON pending_push (due_at, secret_hash, id)",
        "CREATE INDEX pending_push_device_idx ON pending_push (secret_hash, device_id)",
        // Every claimed push looks up its device by ID.
        "CREATE INDEX device_registration_secret_id_idx ON device_registration (secret_hash, id)",
    ]

    private static let pushBuckets = [
        "ALTER TABLE pending_push ADD COLUMN bucket INTEGER NOT NULL DEFAULT 0",
        "CREATE INDEX pending_push_bucket_idx ON pending_push (bucket, due_at, secret_hash, id)",
    ]

    private static let pushEvents = [
        "ALTER TABLE pending_push ADD COLUMN event_id TEXT",
        "ALTER TABLE pending_push ADD COLUMN kind TEXT",
    ]

    private static let replyResults = [
        "ALTER TABLE event_reply ADD COLUMN result_at INTEGER",
        "ALTER TABLE event_reply ADD COLUMN outcome TEXT",
        "ALTER TABLE event_reply ADD COLUMN reason TEXT",
        "ALTER TABLE event_reply ADD COLUMN sealed_result TEXT",
    ]

    private static let deviceDetails = [
        "ALTER TABLE device_registration ADD COLUMN device_name TEXT",
        "ALTER TABLE device_registration ADD COLUMN device_model TEXT",
        "ALTER TABLE device_registration ADD COLUMN os_version TEXT",
        "ALTER TABLE device_registration ADD COLUMN app_version TEXT",
        "ALTER TABLE device_registration ADD COLUMN preferences TEXT",
        "ALTER TABLE delivery_log ADD COLUMN device_id TEXT",
    ]

    private static let blockedSecrets = [
        """
        CREATE TABLE blocked_secret (
            secret_hash TEXT NOT NULL PRIMARY KEY,
            created_at INTEGER NOT NULL,
            note TEXT
        ) STRICT, WITHOUT ROWID
        """
    ]

    /// Needs no index: a secret has few devices, which are stored next to each other.
    private static let installations = [
        "ALTER TABLE device_registration ADD COLUMN sealed_versions TEXT",
        "ALTER TABLE device_registration ADD COLUMN installation_id TEXT",
    ]

    private static let agentUse = [
        """
        CREATE TABLE agent_use (
            secret_hash TEXT NOT NULL PRIMARY KEY,
            used_at INTEGER NOT NULL,
            client TEXT
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE INDEX agent_use_used_at_idx ON agent_use (used_at)",
    ]

    /// A table with rowids, so that counts and scans read small indices instead of texts.
    private static let history = [
        """
        CREATE TABLE history_item (
            id TEXT NOT NULL,
            secret_hash TEXT NOT NULL,
            event_id TEXT,
            event_type TEXT NOT NULL,
            session_id TEXT NOT NULL,
            server_id TEXT,
            created_at INTEGER NOT NULL,
            read_at INTEGER,
            title TEXT,
            body TEXT,
            sealed TEXT,
            PRIMARY KEY (secret_hash, created_at, id)
        ) STRICT
        """,
        "CREATE INDEX history_item_created_at_idx ON history_item (created_at)",
        "CREATE INDEX history_item_event_idx ON history_item (secret_hash, event_id)",
        "CREATE INDEX history_item_read_at_idx ON history_item (secret_hash, read_at)",
    ]

    /// A table with rowids, so that scans read small indices instead of contents.
    private static let schedules = [
        """
        CREATE TABLE schedule (
            secret_hash TEXT NOT NULL,
            id TEXT NOT NULL,
            kind TEXT NOT NULL,
            name TEXT,
            rule TEXT,
            content TEXT NOT NULL,
            bucket INTEGER NOT NULL,
            next_at INTEGER NOT NULL,
            due_at INTEGER NOT NULL,
            ends_at INTEGER,
            late_by INTEGER NOT NULL,
            spread INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            last_at INTEGER,
            last_outcome TEXT,
            skipped INTEGER NOT NULL,
            lease_owner TEXT,
            lease_until INTEGER NOT NULL,
            PRIMARY KEY (secret_hash, id)
        ) STRICT
        """,
        "CREATE UNIQUE INDEX schedule_name_idx ON schedule (secret_hash, kind, name)",
        "CREATE INDEX schedule_due_at_idx ON schedule (due_at)",
        "CREATE INDEX schedule_bucket_idx ON schedule (bucket, due_at)",
    ]
}
