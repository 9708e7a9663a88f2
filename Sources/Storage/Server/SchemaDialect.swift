/// The SQL for creating and inspecting the schema that differs between servers.
package struct SchemaDialect: Sendable {
    /// An expression for the schema (on MySQL, the database) in which tables are created: `current_schema()`.
    package let currentSchema: String
    /// A query for the server's clock, in milliseconds since 1970.
    package let clock: String
    /// The statements of a step, each safe to repeat (`alreadyExists` isn't treated as a failure).
    ///
    /// `adopting`: the database has OpenCode's two tables, and step 1 converts them.
    package let statements: @Sendable (_ step: SchemaStep, _ adopting: Bool) -> [String]
    /// Creates `relay_schema (version, summary)`, with the version as its key, unless it exists.
    package let createVersionTable: String

    /// Creates a dialect from its parts.
    package init(
        currentSchema: String, clock: String,
        statements: @escaping @Sendable (SchemaStep, Bool) -> [String], createVersionTable: String
    ) {
        self.currentSchema = currentSchema
        self.clock = clock
        self.statements = statements
        self.createVersionTable = createVersionTable
    }

    /// Counts the tables with a name: a query with one parameter.
    package static func countTables(in schema: String) -> String {
        "SELECT count(*) FROM information_schema.tables WHERE table_schema = \(schema) AND table_name = ?"
    }
}
