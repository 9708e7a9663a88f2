/// An engine that shards by secret if each table is set up for it, with the statements that create a sharded database.
package enum Sharding: String, CaseIterable, Sendable {
    /// A sharded keyspace in Vitess (PlanetScale), where the relay can't create tables itself.
    case vitess
    /// Citus, an extension of PostgreSQL.
    case citus

    /// Statements in order, without trailing semicolons.
    ///
    /// - Parameter writer: MySQL's writer for Vitess, PostgreSQL's writer for Citus.
    package func statements(_ writer: SchemaWriter) -> [String] {
        var statements: [String] = []
        for step in SchemaStep.allCases {
            statements += writer.statements(of: step, adopting: false)
        }
        // On Vitess, rows can only be inserted into a table that has a vindex.
        let versions = SchemaStep.allCases.map(\.insertion)
        switch self {
        case .vitess:
            let vindices = writer.tables.map { vindex($0.name, $0.key[0]) }
            return statements + vindices + [vindex(SchemaTable.relaySchema.name, "version")] + versions
        case .citus:
            let tables = writer.tables.filter { !$0.isCoordinators }
            let first = tables.first?.name ?? ""
            return statements + versions
                + tables.map { table in
                    let place = table.name == first ? "" : ", colocate_with => '\(first)'"
                    return "SELECT create_distributed_table('\(table.name)', '\(table.key[0])'\(place))"
                }
        }
    }

    private func vindex(_ table: String, _ column: String) -> String {
        "ALTER VSCHEMA ON \(table) ADD VINDEX xxhash(\(column)) USING xxhash"
    }
}

extension SchemaStep {
    /// Records that the step was applied.
    package var insertion: String {
        "INSERT INTO relay_schema (version, summary) VALUES (\(rawValue), '\(summary)')"
    }
}
