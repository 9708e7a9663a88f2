/// The schema on a database server: which steps it has had, and how those that it lacks are applied.
struct ServerSchema<Connection: SQLConnection> {
    let connection: Connection

    /// What the tables were found to be.
    enum State: Equatable {
        /// None of the relay's tables is there; others don't matter.
        case empty
        /// The two tables of OpenCode's relay are there, and not yet ours.
        case adoptable
        /// It is a relay's, at a version.
        case relay(version: Int)

        /// The version from which the steps go on; adopting begins at the first.
        var version: Int {
            switch self {
            case .empty, .adoptable: 0
            case .relay(let version): version
            }
        }
    }

    /// Says what is there, changing nothing; `foreignDatabase` when a table of ours is another program's.
    func inspect() throws(SQLFailure) -> State {
        let tables = Set(
            try connection.texts(
                """
                SELECT table_name FROM information_schema.tables
                WHERE table_schema = \(Connection.dialect.currentSchema)
                AND table_name IN ('relay_schema', 'device_registration', 'delivery_log')
                """))
        let isBegun = tables.contains("relay_schema")
        if isBegun, case let version = try version(), version > 0 { return .relay(version: version) }
        // Where each DDL statement commits by itself, an earlier attempt may have stopped in the middle of the first
        // step. The tables tell which variant of the step to run; its statements are harmless when run again.
        let ours = tables.subtracting(["relay_schema"])
        if ours.isEmpty || (isBegun && ours.count < adoptedColumns.count) { return .empty }
        if isBegun, try !isKeyedByID() { return .empty }
        for (table, columns) in adoptedColumns {
            let found = try connection.texts(
                """
                SELECT column_name FROM information_schema.columns
                WHERE table_schema = \(Connection.dialect.currentSchema) AND table_name = ?
                """, [.text(table)])
            guard Set(found) == columns else {
                let detail = "its table \(table) has other columns than a relay's"
                throw SQLFailure(.other, .foreignDatabase(logDetail: detail))
            }
        }
        return .adoptable
    }

    /// Whether `device_registration` has OpenCode's key, which is `id`; in the relay's own table `id` is in no key.
    private func isKeyedByID() throws(SQLFailure) -> Bool {
        try connection.integer(
            """
            SELECT count(*) FROM information_schema.key_column_usage
            WHERE table_schema = \(Connection.dialect.currentSchema)
            AND table_name = 'device_registration' AND column_name = 'id'
            """) != 0
    }

    /// The version that the steps have reached; only where `relay_schema` is.
    func version() throws(SQLFailure) -> Int {
        Int(try connection.integer(versionQuery) ?? 0)
    }

    /// The steps that are missing, with their statements.
    func pending(after state: State) throws(SQLFailure) -> [PendingStep] {
        let steps: [SchemaStep]
        do throws(StorageError) {
            steps = try SchemaStep.pending(after: state.version)
        } catch {
            throw SQLFailure(.other, error)
        }
        return steps.map { step in
            var statements = Connection.dialect.statements(step, state == .adoptable)
            if step == SchemaStep.allCases.first {
                // Last where tables are adopted: until they all are, they are still another relay's, also after an
                // attempt that was cut where each statement commits by itself.
                let place = state == .adoptable ? statements.endIndex : 0
                statements.insert(Connection.dialect.createVersionTable, at: place)
            }
            return PendingStep(step: step, statements: statements)
        }
    }

    /// Applies the steps that are missing while no other process does, and says which they were.
    func migrate() throws(SQLFailure) -> [SchemaStep] {
        // Without the lock another process may be seen in the middle of its steps: only "nothing to do" is certain.
        if let missing = try? pending(after: try inspect()), missing.isEmpty { return [] }
        return try connection.withSchemaLock { () throws(SQLFailure) in
            let missing = try pending(after: try inspect())
            for pending in missing { try apply(pending) }
            return missing.map(\.step)
        }
    }

    /// Forgets the copy that filled the database, from which it now begins to differ; one that isn't finished is refused.
    func endCopy() throws(SQLFailure) {
        guard try !copyTables().isEmpty else { return }
        try connection.withSchemaLock { () throws(SQLFailure) in
            guard try !holdsUnfinishedCopy() else { throw SQLFailure(.other, .unfinishedCopy) }
            // Without its rows it is no copy; the account may lack the right to remove the table.
            if try copyTables().contains(TransferTables.marks) {
                _ = try connection.execute("DELETE FROM \(TransferTables.marks)", [])
            }
        }
        try? connection.withSchemaLock { () throws(SQLFailure) in
            for table in [TransferTables.marks, TransferTables.added] {
                try connection.run("DROP TABLE IF EXISTS \(table)")
            }
        }
    }

    /// Whether the database is the target of a copy that isn't finished.
    func holdsUnfinishedCopy() throws(SQLFailure) -> Bool {
        guard try copyTables().contains(TransferTables.marks) else { return false }
        return try connection.integer(TransferTables.countUnfinished) != 0
    }

    private func copyTables() throws(SQLFailure) -> [String] {
        try connection.texts(
            """
            SELECT table_name FROM information_schema.tables
            WHERE table_schema = \(Connection.dialect.currentSchema) AND table_name IN (?, ?)
            """, [.text(TransferTables.marks), .text(TransferTables.added)])
    }

    private func apply(_ pending: PendingStep) throws(SQLFailure) {
        for statement in pending.statements {
            do throws(SQLFailure) {
                try connection.run(statement)
            } catch  where error.kind == .alreadyExists {
                // An earlier attempt came this far: where DDL commits by itself, a step can end in its middle.
            }
        }
        // On a cluster the lock is one node's, and another process may have come this far elsewhere.
        _ = try connection.execute(
            Connection.dialect.insertUnlessPresent("INTO relay_schema (version, summary) VALUES (?, ?)"),
            [.integer(Int64(pending.step.rawValue)), .text(pending.step.summary)])
    }

    private var versionQuery: String { "SELECT coalesce(max(version), 0) FROM relay_schema" }

    /// What OpenCode's relay made, and what is therefore adopted.
    private var adoptedColumns: [(table: String, columns: Set<String>)] {
        [
            (
                "device_registration",
                ["id", "secret_hash", "device_token", "bundle_id", "apns_env", "created_at", "updated_at"]
            ),
            (
                "delivery_log",
                ["id", "secret_hash", "event_type", "session_id", "status", "error", "created_at"]
            ),
        ]
    }
}
