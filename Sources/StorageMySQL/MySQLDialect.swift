package import Storage

extension MySQLConnection {
    /// MySQL's SQL dialect, which MariaDB, Vitess and TiDB also understand.
    package static let dialect = SQLDialect(
        deletesInOrder: true, begin: "START TRANSACTION",
        countTables: SchemaDialect.countTables(in: "database()"),
        // Columns with keys and IDs already compare byte for byte.
        bytewise: { $0 },
        insertUnlessPresent: { "INSERT IGNORE \($0)" },
        replacing: { _, others in
            "ON DUPLICATE KEY UPDATE " + others.map { "\($0) = VALUES(\($0))" }.joined(separator: ", ")
        },
        deleteFirst: { "DELETE FROM \($0.table) WHERE \($0.condition) ORDER BY \($0.order) LIMIT ?" })

    /// MySQL's SQL for the schema.
    package static let schema = SchemaDialect(
        currentSchema: "database()",
        clock: "SELECT CAST(unix_timestamp(now(3)) * 1000 AS SIGNED)",
        writer: MySQLSchema.writer)
}
