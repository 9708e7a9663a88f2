import CSQLite

/// The number of rows in a database's delivery log, or in another table, as SQLite itself counts them.
func deliveryRows(_ path: String, table: String = "delivery_log") throws -> Int {
    try number("count(*)", in: path, table)
}

/// The number of pushes in the delivery log: a row contains its first push, and each additional one in 72 bytes.
func loggedPushes(_ path: String) throws -> Int {
    try number("count(*) + coalesce(sum(length(others)), 0) / 72", in: path, "delivery_log")
}

private func number(_ expression: String, in path: String, _ table: String) throws -> Int {
    var database: OpaquePointer?
    defer { sqlite3_close(database) }
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    guard sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, nil) == SQLITE_OK,
        sqlite3_prepare_v2(database, "SELECT \(expression) FROM \(table)", -1, &statement, nil) == SQLITE_OK,
        sqlite3_step(statement) == SQLITE_ROW
    else { throw Program.Failure(description: "the database \(path) can't be read") }
    return Int(sqlite3_column_int64(statement, 0))
}
