/// The schema on a database server: determines which steps have been applied, and applies the missing ones.
struct ServerSchema {
    let connection: any ServerConnection

    /// Reads the schema's state without changing it; throws `foreignDatabase` if another program owns a table with one
    /// of the relay's names.
    func inspect() throws(SQLFailure) -> SchemaState {
        let tables = Set(
            try connection.texts(
                """
                SELECT table_name FROM information_schema.tables
                WHERE table_schema = \(connection.schema.currentSchema)
                AND table_name IN ('relay_schema', 'device_registration', 'delivery_log')
                """))
        let isBegun = tables.contains("relay_schema")
        if isBegun, case let version = try version(), version > 0 {
            guard try connection.integer(SchemaStep.countUnreleased) == 0 else {
                throw SQLFailure(.other, .unreleased)
            }
            return .relay(version: version)
        }
        // On engines that commit each DDL statement separately, an earlier attempt may have stopped partway through the
        // first step. The tables show which variant of the step to run; its statements are harmless when repeated.
        let ours = tables.subtracting(["relay_schema"])
        if ours.isEmpty || (isBegun && ours.count < SchemaState.adoptedColumns.count) { return .empty }
        if isBegun, try !isKeyedByID() { return .empty }
        for (table, columns) in SchemaState.adoptedColumns {
            let found = try connection.texts(
                """
                SELECT column_name FROM information_schema.columns
                WHERE table_schema = \(connection.schema.currentSchema) AND table_name = ?
                """, [.text(table)])
            // The relay's columns are added after `relay_schema` is created.
            guard isBegun ? columns.isSubset(of: found) : Set(found) == columns else {
                let detail = "its table \(table) has other columns than a relay's"
                throw SQLFailure(.other, .foreignDatabase(logDetail: detail))
            }
        }
        return .adoptable
    }

    /// Whether `device_registration` has OpenCode's primary key, `id`; in the relay's own table, no key contains `id`.
    private func isKeyedByID() throws(SQLFailure) -> Bool {
        try connection.integer(
            """
            SELECT count(*) FROM information_schema.key_column_usage
            WHERE table_schema = \(connection.schema.currentSchema)
            AND table_name = 'device_registration' AND column_name = 'id'
            """) != 0
    }

    /// The version that the applied steps have reached; requires `relay_schema`.
    func version() throws(SQLFailure) -> Int {
        Int(try connection.integer(SchemaStep.versionQuery) ?? 0)
    }

    /// The missing steps with their statements.
    func pending(after state: SchemaState) throws(SQLFailure) -> [PendingStep] {
        do throws(StorageError) {
            return try connection.schema.writer.pending(after: state)
        } catch {
            throw SQLFailure(.other, error)
        }
    }

    /// Fails before the first step if the steps can't be applied: with `denied` if the account lacks a privilege, with
    /// `unsuitable` if there is no schema in which to create tables.
    ///
    /// MySQL commits each statement on its own, so a privilege missing partway through would leave half a schema.
    func requireRights(for pending: [PendingStep]) throws(SQLFailure) {
        guard !pending.isEmpty else { return }
        do throws(SQLFailure) {
            try connection.checkSchemaRights(tables: ["device_registration", "delivery_log"])
        } catch {
            switch error.error {
            case .denied, .readOnly, .full, .unsuitable: throw error
            // Any other problem surfaces when the steps are applied.
            default: guard connection.isUsable else { throw error }
            }
        }
    }

    /// Applies the missing steps while no other process can do so, and returns them.
    func migrate() throws(SQLFailure) -> [SchemaStep] {
        // Without the lock, another process may be applying steps: the only certain result is "nothing to do".
        if let missing = try? pending(after: try inspect()) {
            if missing.isEmpty { return [] }
            try requireRights(for: missing)
        }
        return try connection.withSchemaLock { () throws(SQLFailure) in
            let missing = try pending(after: try inspect())
            for pending in missing { try apply(pending) }
            return missing.map(\.step)
        }
    }

    /// Whether the database is the target of an unfinished copy.
    func holdsUnfinishedCopy() throws(SQLFailure) -> Bool {
        let marks = TransferSide.marksTable
        let found = try connection.texts(
            """
            SELECT table_name FROM information_schema.tables
            WHERE table_schema = \(connection.schema.currentSchema) AND table_name = ?
            """, [.text(marks)])
        guard !found.isEmpty else { return false }
        return try connection.integer("SELECT count(*) FROM \(marks)") != 0
    }

    private func apply(_ pending: PendingStep) throws(SQLFailure) {
        for statement in pending.statements {
            do throws(SQLFailure) {
                try connection.run(statement)
            } catch  where error.kind == .alreadyExists {
                // An earlier attempt already did this: on engines that commit each DDL statement separately, a step can
                // stop partway.
            }
        }
        // In a cluster the lock covers only one node, so another process may have applied this step on another node.
        _ = try connection.execute(
            connection.dialect.insertUnlessPresent("INTO relay_schema (version, summary) VALUES (?, ?)"),
            [.integer(Int64(pending.step.rawValue)), .text(pending.step.summary)])
    }
}
