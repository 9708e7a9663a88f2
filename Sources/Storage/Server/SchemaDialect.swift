/// The parts of the SQL for creating and inspecting the schema that differ between servers.
package struct SchemaDialect: Sendable {
    /// An expression for the schema (on MySQL, the database) in which tables are created, such as `current_schema()`.
    package let currentSchema: String
    /// A query for the server's clock, in milliseconds since 1970.
    package let clock: String
    /// Writes the schema's statements.
    package let writer: SchemaWriter

    /// Creates a dialect from its parts.
    package init(currentSchema: String, clock: String, writer: SchemaWriter) {
        self.currentSchema = currentSchema
        self.clock = clock
        self.writer = writer
    }

    /// A query that counts the tables with a given name, its only parameter.
    package static func countTables(in schema: String) -> String {
        "SELECT count(*) FROM information_schema.tables WHERE table_schema = \(schema) AND table_name = ?"
    }
}
