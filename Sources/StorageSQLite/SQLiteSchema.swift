internal import Storage

/// The schema in SQLite: the file's owner, the applied steps, and SQLite's SQL for the schema.
enum SQLiteSchema {
    /// `APNR`: the `PRAGMA application_id` of a relay's file.
    static let applicationID: Int64 = 0x4150_4E52

    /// Determines whose file it is without changing it; throws `foreignDatabase` if it belongs to another program.
    static func inspect(_ connection: SQLiteConnection) throws(StorageError) -> SchemaState {
        let identifier = try connection.integer("PRAGMA application_id") ?? 0
        if identifier == applicationID {
            guard try connection.integer(SchemaStep.countUnreleased) == 0 else { throw .unreleased }
            return .relay(version: try version(connection))
        }
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

    /// The version that the applied steps have reached; requires a relay's file.
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

    /// Applies the missing steps in one transaction, and returns them.
    ///
    /// The caller is the only relay that writes, and `BEGIN IMMEDIATE` excludes other programs.
    static func migrate(_ connection: SQLiteConnection) throws(StorageError) -> [SchemaStep] {
        try connection.execute("BEGIN IMMEDIATE")
        do throws(StorageError) {
            let state = try inspect(connection)
            let missing = try writer.pending(after: state)
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

    /// Whether the file is the target of an unfinished copy.
    static func holdsUnfinishedCopy(_ connection: SQLiteConnection) throws(StorageError) -> Bool {
        let marks = TransferSide.marksTable
        let count = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '\(marks)'"
        guard try connection.integer(count) != 0 else { return false }
        return try connection.integer("SELECT count(*) FROM \(marks)") != 0
    }

    /// Refuses an adopted table that doesn't compare its keys byte for byte, which would mix up devices.
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

// MARK: - SQL

extension SQLiteSchema {
    /// SQLite's SQL for the schema.
    static let writer = SchemaWriter(
        isSQLite: true,
        type: { kind, _ in
            switch kind {
            case .hash, .id, .ascii, .key, .text, .longText: "TEXT"
            case .small, .integer: "INTEGER"
            case .blob, .largeBlob: "BLOB"
            }
        },
        options: { $0.hasRowIDs ? " STRICT" : " STRICT, WITHOUT ROWID" },
        preamble: ["PRAGMA application_id = \(applicationID)"],
        // Without the first index, two processes could register a device twice.
        adoption: [
            """
            CREATE UNIQUE INDEX IF NOT EXISTS device_registration_secret_token_idx
                ON device_registration (secret_hash, device_token)
            """,
            "CREATE INDEX IF NOT EXISTS device_registration_secret_id_idx ON device_registration (secret_hash, id)",
        ])
}
