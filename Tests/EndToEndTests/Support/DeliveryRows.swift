import CSQLite

/// How many rows a database's delivery log, or another table, has, read by SQLite itself.
func deliveryRows(_ path: String, table: String = "delivery_log") throws -> Int {
    var database: OpaquePointer?
    defer { sqlite3_close(database) }
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    guard sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, nil) == SQLITE_OK,
        sqlite3_prepare_v2(database, "SELECT count(*) FROM \(table)", -1, &statement, nil) == SQLITE_OK,
        sqlite3_step(statement) == SQLITE_ROW
    else { throw Program.Failure(description: "the database \(path) can't be read") }
    return Int(sqlite3_column_int64(statement, 0))
}
