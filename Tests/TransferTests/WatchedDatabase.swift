import Storage

/// A side of a copy that lets something happen before each call, or fails it.
struct WatchedDatabase: TransferDatabase {
    enum Call: Hashable {
        case read
        case store(table: String)
        case replace(table: String)
        case marks
    }

    private let database: any TransferDatabase
    private let before: @Sendable (Call) async throws(StorageError) -> Void

    init(
        _ database: any TransferDatabase,
        before: @escaping @Sendable (Call) async throws(StorageError) -> Void
    ) {
        self.database = database
        self.before = before
    }

    /// One whose connection is cut after some changes.
    init(_ database: any TransferDatabase, changesUntilFailure: Int) {
        let left = Guarded(changesUntilFailure)
        self.init(database) { call throws(StorageError) in
            guard call != .read else { return }
            let isCut = left.withLock { left in
                left -= 1
                return left < 0
            }
            if isCut { throw .unavailable(logDetail: "cut") }
        }
    }

    func version() async throws(StorageError) -> Int { try await database.version() }
    func count(of table: TransferTable) async throws(StorageError) -> Int {
        try await database.count(of: table)
    }
    func page(
        of table: TransferTable, after key: [SQLValue]?, version: Int
    ) async throws(StorageError) -> [[SQLValue]] {
        try await before(.read)
        return try await database.page(of: table, after: key, version: version)
    }
    func rows(
        of table: TransferTable, keys: [[SQLValue]], version: Int
    ) async throws(StorageError) -> [[SQLValue]] {
        try await before(.read)
        return try await database.rows(of: table, keys: keys, version: version)
    }
    func store(
        _ rows: [[SQLValue]], in table: TransferTable, _ mark: TransferMark
    ) async throws(StorageError) {
        try await before(.store(table: table.name))
        try await database.store(rows, in: table, mark)
    }
    func replace(
        _ keys: [[SQLValue]], with rows: [[SQLValue]], in table: TransferTable, isMerge: Bool
    ) async throws(StorageError) {
        try await before(.replace(table: table.name))
        try await database.replace(keys, with: rows, in: table, isMerge: isMerge)
    }
    func addedKeys(
        of table: TransferTable, after digest: String, limit: Int
    ) async throws(StorageError) -> [TransferAddedKey] {
        try await before(.read)
        return try await database.addedKeys(of: table, after: digest, limit: limit)
    }
    func marks() async throws(StorageError) -> [TransferMark]? { try await database.marks() }
    func begin(_ marks: [TransferMark]) async throws(StorageError) {
        try await before(.marks)
        try await database.begin(marks)
    }
    func update(_ marks: [TransferMark]) async throws(StorageError) {
        try await before(.marks)
        try await database.update(marks)
    }
    func end() async throws(StorageError) { try await database.end() }
    func close() async { await database.close() }
}
