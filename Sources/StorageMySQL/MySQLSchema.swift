internal import Storage

/// The schema in MySQL's dialect; each statement commits on its own and is harmless when repeated.
///
/// Keys are bytes, or hexadecimal text and IDs in `ascii_bin`: Unicode collations either treat `a` and `a ` as equal or
/// don't exist on every engine.
enum MySQLSchema {
    static let writer = SchemaWriter(
        hasInnerIndices: true, type: { kind, isAdded in type(kind, isAdded: isAdded) },
        options: { _ in
            " ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin ROW_FORMAT = DYNAMIC"
        }, adoption: adoption)

    private static func type(_ kind: SchemaTable.Kind, isAdded: Bool) -> String {
        // An adopted table uses the server's default collation.
        let collation = isAdded ? " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin" : ""
        return switch kind {
        case .hash: ascii("char(64)")
        case .id: ascii("char(36)")
        case .ascii(let length): ascii("varchar(\(length))")
        case .key(let length): "varbinary(\(length))"
        case .text(let length): "varchar(\(length))" + collation
        case .longText: "text" + collation
        case .small: "int"
        case .integer: "bigint"
        case .blob: "blob"
        case .largeBlob: "mediumblob"
        }
    }

    private static func ascii(_ type: String) -> String {
        "\(type) CHARACTER SET ascii COLLATE ascii_bin"
    }

    /// Widens the columns of OpenCode's tables to match those of new tables; OpenCode's relay can still use them.
    ///
    /// Those tables use the server's default collation, under which different keys can compare as equal.
    private static let adoption = [
        """
        ALTER TABLE device_registration
            MODIFY id \(ascii("char(36)")) NOT NULL,
            MODIFY secret_hash \(ascii("char(64)")) NOT NULL,
            MODIFY device_token varbinary(400) NOT NULL,
            MODIFY bundle_id varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
            MODIFY apns_env varchar(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'production'
        """,
        // Without this index, two processes could register a device twice.
        """
        CREATE UNIQUE INDEX device_registration_secret_token_idx
            ON device_registration (secret_hash, device_token)
        """,
        "CREATE INDEX device_registration_secret_id_idx ON device_registration (secret_hash, id)",
        """
        ALTER TABLE delivery_log
            MODIFY id \(ascii("char(36)")) NOT NULL,
            MODIFY secret_hash \(ascii("char(64)")) NOT NULL,
            MODIFY event_type varchar(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
            MODIFY session_id varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
            MODIFY status varchar(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
            MODIFY error varchar(1024) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL
        """,
        "CREATE INDEX delivery_log_secret_time_idx ON delivery_log (secret_hash, created_at, id)",
        "CREATE INDEX delivery_log_created_at_idx ON delivery_log (created_at)",
    ]
}
