/// Writes the schema in an engine's SQL; each statement is harmless when repeated, if `alreadyExists` is ignored.
package struct SchemaWriter: Sendable {
    /// Whether to write SQLite's tables and indices.
    let isSQLite: Bool
    /// Whether `CREATE TABLE` contains the indices.
    let hasInnerIndices: Bool
    /// The beginning of a clause that adds a column in `ALTER TABLE`, such as `ADD COLUMN`.
    let addColumn: String
    /// A column's type in a new table or, if `isAdded`, in a table that another program created.
    let type: @Sendable (SchemaTable.Kind, _ isAdded: Bool) -> String
    /// The text after the columns of `CREATE TABLE`.
    let options: @Sendable (SchemaTable) -> String
    /// The first statements in an empty database.
    let preamble: [String]
    /// Gives OpenCode's tables the keys and types that the relay needs, but not the relay's additional columns.
    let adoption: [String]

    /// Creates a writer from its parts.
    package init(
        isSQLite: Bool = false, hasInnerIndices: Bool = false, addColumn: String = "ADD COLUMN",
        type: @escaping @Sendable (SchemaTable.Kind, Bool) -> String,
        options: @escaping @Sendable (SchemaTable) -> String, preamble: [String] = [], adoption: [String]
    ) {
        self.isSQLite = isSQLite
        self.hasInnerIndices = hasInnerIndices
        self.addColumn = addColumn
        self.type = type
        self.options = options
        self.preamble = preamble
        self.adoption = adoption
    }

    /// The steps that a database lacks, with their statements; throws `schemaTooNew`.
    package func pending(after state: SchemaState) throws(StorageError) -> [PendingStep] {
        try SchemaStep.pending(after: state.version).map { step in
            PendingStep(step: step, statements: statements(of: step, adopting: state == .adoptable))
        }
    }

    /// The engine's tables that contain secrets' rows.
    package var tables: [SchemaTable] { SchemaTable.all.filter { isHere($0.engines) } }

    /// Creates `relay_schema` unless it exists.
    package var createVersionTable: String { create(.relaySchema, at: .baseline)[0] }

    func statements(of step: SchemaStep, adopting: Bool) -> [String] {
        let adopted = adopting ? SchemaState.adoptedColumns : [:]
        let new = tables.filter { $0.since == step && adopted[$0.name] == nil }.flatMap {
            create($0, at: step)
        }
        let added = tables.flatMap { table in
            let old = adopted[table.name]
            let columns = table.columns.filter { column in
                column.since == step
                    && old.map { !$0.contains(column.name) } ?? (table.since.rawValue < step.rawValue)
            }
            return columns.isEmpty ? [] : alter(table, adding: columns)
        }
        guard step == .baseline else { return new + added }
        // When tables are adopted, `relay_schema` is created before their new columns are added. Until then the tables
        // belong to OpenCode's relay, even after an interrupted attempt on an engine that commits each statement
        // separately.
        let begin = preamble + [createVersionTable]
        return adopting ? adoption + new + begin + added : begin + new
    }

    private func create(_ table: SchemaTable, at step: SchemaStep) -> [String] {
        let columns = table.columns.filter { $0.since.rawValue <= step.rawValue }.map {
            definition(of: $0, isAdded: false)
        }
        let key = isSQLite ? table.sqliteKey ?? table.key : table.key
        let indices = table.indices.filter { isHere($0.engines) }
        var lines = columns + ["PRIMARY KEY (\(key.joined(separator: ", ")))"]
        if hasInnerIndices {
            lines += indices.map { index in
                "\(index.isUnique ? "UNIQUE " : "")INDEX \(index.name) (\(index.columns.joined(separator: ", ")))"
            }
        }
        let body = lines.map { "    " + $0 }.joined(separator: ",\n")
        let sql = "CREATE TABLE IF NOT EXISTS \(table.name) (\n\(body))\(options(table))"
        return [sql] + (hasInnerIndices ? [] : indices.map { Self.create($0, on: table) })
    }

    private static func create(_ index: SchemaTable.Index, on table: SchemaTable) -> String {
        let kind = index.isUnique ? "UNIQUE INDEX" : "INDEX"
        let columns = index.columns.joined(separator: ", ")
        return "CREATE \(kind) IF NOT EXISTS \(index.name) ON \(table.name) (\(columns))"
    }

    /// Adds columns: on SQLite in one statement per column, elsewhere in a single statement, all or nothing.
    private func alter(_ table: SchemaTable, adding columns: [SchemaTable.Column]) -> [String] {
        let clauses = columns.map { "\(addColumn) \(definition(of: $0, isAdded: true))" }
        guard !isSQLite else { return clauses.map { "ALTER TABLE \(table.name) \($0)" } }
        return ["ALTER TABLE \(table.name)\n    " + clauses.joined(separator: ",\n    ")]
    }

    private func definition(of column: SchemaTable.Column, isAdded: Bool) -> String {
        "\(column.name) \(type(column.kind, isAdded))" + (column.isNullable ? "" : " NOT NULL")
            + (column.initial.map { " DEFAULT \($0)" } ?? "")
    }

    private func isHere(_ engines: SchemaTable.Engines) -> Bool {
        engines == .all || (engines == .sqlite) == isSQLite
    }
}
