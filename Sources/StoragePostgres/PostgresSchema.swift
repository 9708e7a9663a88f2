internal import Storage

/// The schema and the dialect of PostgreSQL.
///
/// Under every default collation, text values are equal only if their bytes are. Where order matters, statements use
/// `COLLATE "C"`, which CockroachDB doesn't support as a column property.
enum PostgresSchema {
    static let dialect = SQLDialect(
        begin: "BEGIN ISOLATION LEVEL READ COMMITTED",
        countTables: SchemaDialect.countTables(in: "current_schema()"),
        bytewise: { "\($0) COLLATE \"C\"" })

    static let schema = SchemaDialect(
        currentSchema: "current_schema()",
        clock: "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)",
        writer: SchemaWriter(
            addColumn: "ADD COLUMN IF NOT EXISTS", type: { kind, _ in type(kind) }, options: { _ in "" },
            adoption: adoption))

    private static func type(_ kind: SchemaTable.Kind) -> String {
        switch kind {
        case .hash: "varchar(64)"
        case .id: "varchar(36)"
        case .ascii(let length), .key(let length), .text(let length): "varchar(\(length))"
        case .longText: "text"
        case .small: "integer"
        case .integer: "bigint"
        case .blob, .largeBlob: "bytea"
        }
    }

    /// Widens the columns of OpenCode's tables as the relay requires; no row is rewritten.
    ///
    /// Without the first index, two processes could register a device twice.
    private static let adoption = [
        """
        ALTER TABLE device_registration
            ALTER COLUMN id TYPE varchar(36),
            ALTER COLUMN secret_hash TYPE varchar(64),
            ALTER COLUMN device_token TYPE varchar(400)
        """,
        """
        CREATE UNIQUE INDEX IF NOT EXISTS device_registration_secret_token_idx
            ON device_registration (secret_hash, device_token)
        """,
        "CREATE INDEX IF NOT EXISTS device_registration_secret_id_idx ON device_registration (secret_hash, id)",
        """
        ALTER TABLE delivery_log
            ALTER COLUMN id TYPE varchar(36),
            ALTER COLUMN secret_hash TYPE varchar(64),
            ALTER COLUMN error TYPE varchar(1024)
        """,
        "CREATE INDEX IF NOT EXISTS delivery_log_created_at_idx ON delivery_log (created_at)",
        """
        CREATE INDEX IF NOT EXISTS delivery_log_secret_created_idx
            ON delivery_log (secret_hash, created_at, id)
        """,
    ]
}
