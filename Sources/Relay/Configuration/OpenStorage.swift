import Programs
import Storage
import StorageMySQL
import StoragePostgres
import StorageSQLite

/// The engines supported in `DATABASE_URL`.
enum DatabaseEngine: String, Sendable, CaseIterable {
    case sqlite = "SQLite"
    case postgres = "Postgres"
    case mysql = "MySQL"

    /// The engine's URL schemes.
    var schemes: [String] {
        switch self {
        case .sqlite: ["sqlite"]
        case .postgres: ["postgres", "postgresql"]
        case .mysql: ["mysql", "mariadb"]
        }
    }
}

/// The only place that knows which database drivers are built in.
enum OpenStorage {
    /// A database's location, parsed by its driver.
    private enum Place {
        case sqlite(SQLiteLocation)
        case postgres(PostgresLocation)
        case mysql(MySQLLocation)

        init(_ database: DatabaseURL) throws(DatabaseURLError) {
            switch database.engine {
            case .sqlite: self = .sqlite(try SQLiteLocation(url: database.text))
            case .postgres: self = .postgres(try PostgresLocation(url: database.text))
            case .mysql: self = .mysql(try MySQLLocation(url: database.text))
            }
        }

        /// The location for messages, without user and password.
        var description: String {
            switch self {
            case .sqlite(let location): location.path
            case .postgres(let location): location.description
            case .mysql(let location): location.description
            }
        }
    }

    /// The driver's error for an invalid URL; `nil` if it is valid.
    static func problem(with database: DatabaseURL) -> DatabaseURLError? {
        do throws(DatabaseURLError) {
            _ = try Place(database)
            return nil
        } catch {
            return error
        }
    }

    /// Opens a database, migrates its schema, and returns the applied steps.
    ///
    /// Throws `inUse` immediately for a file that another process is writing to; callers that want to wait must retry.
    ///
    /// - Parameters:
    ///   - options: For a database server; not used for a file.
    static func open(
        _ database: DatabaseURL, options: ServerOptions = ServerOptions()
    ) async throws(StorageError) -> (storage: any Storage, steps: [SchemaStep]) {
        var file = SQLiteOptions()
        file.writerLockTimeoutMilliseconds = 0
        return try await open(database, file: file, server: options)
    }

    /// Opens a database for reading, even alongside a running relay.
    static func openReading(
        _ database: DatabaseURL, options: ServerOptions
    ) async throws(StorageError) -> any Storage {
        var server = options
        server.access = .readOnly
        var file = SQLiteOptions()
        file.access = .readOnly
        file.readers = 1
        return try await open(database, file: file, server: server).storage
    }

    /// Opens a database to change data but not its schema; throws `inUse` for a file that a running relay is using.
    static func openWriting(
        _ database: DatabaseURL, options: ServerOptions
    ) async throws(StorageError) -> any Storage {
        var server = options
        server.access = .writeWithoutMigrating
        var file = SQLiteOptions()
        file.access = .writeWithoutMigrating
        file.readers = 1
        file.writerLockTimeoutMilliseconds = Bounds.commandLockTimeout.inMilliseconds
        return try await open(database, file: file, server: server).storage
    }

    private static func open(
        _ database: DatabaseURL, file: SQLiteOptions, server: ServerOptions
    ) async throws(StorageError) -> (storage: any Storage, steps: [SchemaStep]) {
        switch try place(of: database) {
        case .sqlite(let location):
            let storage = try await SQLiteStorage.open(location, options: file)
            return (storage, storage.appliedSteps)
        case .postgres(let location):
            let storage = try await PostgresStorage.open(location, options: server)
            return (storage, storage.appliedSteps)
        case .mysql(let location):
            let storage = try await MySQLStorage.open(location, options: server)
            return (storage, storage.appliedSteps)
        }
    }

    /// The steps that opening a database would apply, without applying them; works even alongside a running relay.
    static func pendingSteps(of database: DatabaseURL) async throws(StorageError) -> [PendingStep] {
        switch try place(of: database) {
        case .sqlite(let location): try await SQLiteStorage.pendingSteps(at: location)
        case .postgres(let location):
            try await PostgresStorage.pendingSteps(at: location)
        case .mysql(let location): try await MySQLStorage.pendingSteps(at: location)
        }
    }

    /// The statements for a new database on an engine that shards by secret.
    static func statements(for sharding: Sharding) -> [String] {
        switch sharding {
        case .vitess: sharding.statements(MySQLConnection.schema.writer)
        case .citus: sharding.statements(PostgresConnection.schema.writer)
        }
    }

    /// Inspects a database without changing it, even alongside a running relay.
    static func inspection(
        of database: DatabaseURL, options: ServerOptions, id: UUIDv7, clock: WallClock
    ) async throws(StorageError) -> DatabaseInspection {
        var options = options
        options.connectionsMax = 1
        switch try place(of: database) {
        case .sqlite(let location):
            return try await SQLiteStorage.inspection(at: location, id: id, now: clock.now)
        case .postgres(let location):
            return try await PostgresStorage.inspection(
                at: location, options: options, id: id
            ) { clock.now }
        case .mysql(let location):
            return try await MySQLStorage.inspection(
                at: location, options: options, id: id
            ) { clock.now }
        }
    }

    /// The path of a database file; `nil` for a database server.
    static func file(of database: DatabaseURL) -> String? {
        guard case .sqlite(let location) = try? Place(database) else { return nil }
        return location.path
    }

    /// A database's location for messages, without user and password.
    static func description(of database: DatabaseURL) -> String {
        guard let place = try? Place(database) else { return database.engine.rawValue }
        return "\(database.engine.rawValue) \(place.description)"
    }

    /// A database as the source of a copy; it is only read.
    static func transferSource(_ database: DatabaseURL) throws(StorageError) -> TransferSide {
        switch try place(of: database) {
        case .sqlite(let location): try SQLiteTransfer.source(location)
        case .postgres(let location): try ServerTransfer<PostgresConnection>.source(location)
        case .mysql(let location): try ServerTransfer<MySQLConnection>.source(location)
        }
    }

    /// A database as the target of a copy; missing tables are created.
    static func transferTarget(_ database: DatabaseURL) throws(StorageError) -> TransferSide {
        switch try place(of: database) {
        case .sqlite(let location): try SQLiteTransfer.target(location)
        case .postgres(let location): try ServerTransfer<PostgresConnection>.target(location)
        case .mysql(let location): try ServerTransfer<MySQLConnection>.target(location)
        }
    }

    private static func place(of database: DatabaseURL) throws(StorageError) -> Place {
        do throws(DatabaseURLError) {
            return try Place(database)
        } catch {
            throw .internalFault(logDetail: error.description)
        }
    }
}
