/// The parts of SQL that differ between engines; everything else is written once, in ``SQLSession``.
package final class SQLDialect: Sendable {
    /// Whether a single connection makes all changes, so that rows need no locks and statements no round trips.
    package let hasOneWriter: Bool
    /// Begins a transaction that may write, at `READ COMMITTED`.
    package let begin: String
    /// A query that counts the tables with a given name, its only parameter.
    package let countTables: String
    /// An `INSERT` that leaves an existing row with the same key unchanged and, in that case, reports no affected row.
    ///
    /// `rest` is the text after the keyword, such as `secret_lock (secret_hash) VALUES (?)`.
    package let insertUnlessPresent: @Sendable (_ rest: String) -> String
    /// The end of an `INSERT` that replaces an existing row; its arguments are the key's columns and the other columns.
    package let replacing: @Sendable (_ key: [String], _ others: [String]) -> String
    /// Whether `DELETE` supports `ORDER BY` and `LIMIT`.
    let deletesInOrder: Bool
    /// A `DELETE` of a limited number of rows; the limit is the last parameter.
    let deleteFirst: @Sendable (LimitedDeletion) -> String
    /// Updates a device; the parameters are the registration's values, the secret's hash and the token.
    package let updateDevice: String
    /// Like `updateDevice`, but only if the device belongs to the installation given after the token.
    let updateInstallation: String
    /// The statements, built once from this dialect.
    let statements: SQLStatements

    /// Creates a dialect from its parts.
    ///
    /// - Parameters:
    ///   - greatest: The function that returns the larger of two numbers.
    ///   - bytewise: Makes a column compare byte for byte in `ORDER BY` and `<`: `id` becomes `id COLLATE "C"`.
    ///   - deleteFirst: A `DELETE` of a limited number of rows in order; the limit is the last parameter.
    package init(
        hasOneWriter: Bool = false, deletesInOrder: Bool = false, begin: String, countTables: String,
        greatest: String = "greatest",
        bytewise: (String) -> String = { $0 },
        insertUnlessPresent: @escaping @Sendable (String) -> String = SQLDialect.onConflictDoNothing,
        replacing: @escaping @Sendable ([String], [String]) -> String = SQLDialect.onConflictUpdate,
        deleteFirst: @escaping @Sendable (LimitedDeletion) -> String = SQLDialect.deleteThoseSelected
    ) {
        self.hasOneWriter = hasOneWriter
        self.deletesInOrder = deletesInOrder
        self.begin = begin
        self.countTables = countTables
        self.insertUnlessPresent = insertUnlessPresent
        self.replacing = replacing
        self.deleteFirst = deleteFirst
        updateDevice = """
            UPDATE device_registration
            SET bundle_id = ?, apns_env = ?, updated_at = \(greatest)(updated_at + 1, ?),
                device_name = coalesce(?, device_name), device_model = coalesce(?, device_model),
                os_version = coalesce(?, os_version), app_version = coalesce(?, app_version),
                preferences = coalesce(?, preferences),
                sealed_versions = coalesce(?, sealed_versions),
                installation_id = coalesce(?, installation_id), web_push = ?
            WHERE secret_hash = ? AND device_token = ?
            """
        updateInstallation = updateDevice + " AND installation_id = ?"
        statements = SQLStatements(
            lockingRows: hasOneWriter ? "" : " FOR UPDATE", bytewise: bytewise,
            insertUnlessPresent: insertUnlessPresent, deleteFirst: deleteFirst)
    }

    /// The `insertUnlessPresent` of Postgres and SQLite.
    @Sendable package static func onConflictDoNothing(_ rest: String) -> String {
        "INSERT \(rest) ON CONFLICT DO NOTHING"
    }

    /// The `replacing` of Postgres and SQLite.
    @Sendable package static func onConflictUpdate(_ key: [String], _ others: [String]) -> String {
        let changes = others.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
        return "ON CONFLICT (\(key.joined(separator: ", "))) DO UPDATE SET \(changes)"
    }

    /// The `deleteFirst` of Postgres and SQLite.
    @Sendable package static func deleteThoseSelected(_ deletion: LimitedDeletion) -> String {
        let key = deletion.key.joined(separator: ", ")
        return """
            DELETE FROM \(deletion.table) WHERE (\(key)) IN
                (SELECT \(key) FROM \(deletion.table) WHERE \(deletion.condition)
                 ORDER BY \(deletion.order) LIMIT ?)
            """
    }
}

/// A `DELETE` with a limit, for which MySQL needs no subquery.
package struct LimitedDeletion: Sendable {
    /// The table to delete from.
    package let table: String
    /// The columns of the table's primary key.
    package let key: [String]
    /// The condition that selects the rows, with parameters.
    package let condition: String
    /// The column that determines the order; rows with its smallest values are deleted first.
    package let order: String

    /// Creates a deletion from its parts.
    package init(from table: String, key: [String], where condition: String, orderedBy order: String) {
        self.table = table
        self.key = key
        self.condition = condition
        self.order = order
    }
}
