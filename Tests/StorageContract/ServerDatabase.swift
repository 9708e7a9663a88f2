package import Storage

/// A storage with a pool whose connections can be counted.
package protocol PooledStorage: Storage {
    /// The number of connections, including those that are being opened.
    var connectionCount: Int { get }
}

extension ServerStorage: PooledStorage {}

/// A database on a server on 127.0.0.1, which tests may access without the storage for what only servers can do.
package protocol ServerDatabase: ClearableDatabase {
    /// The driver's connection type.
    associatedtype Connection: ServerConnection

    /// The database's location.
    var location: Connection.Location { get }

    /// The server's port.
    var port: UInt16 { get }

    /// The database's location for clients that reach the server through another port of 127.0.0.1.
    func location(port: UInt16) throws -> Connection.Location

    /// The number of the server's connections to this database, except the one that asks.
    func countSessions() throws -> Int

    /// Makes the server end every connection to this database except the one that gives the order.
    func endSessions() throws

    /// Locks a table for everybody until the returned function is called.
    func lock(_ table: String) throws -> @Sendable () throws -> Void

    /// The database's location for a separate account that may have at most `connectionsMax` connections.
    func location(connectionsMax: Int) throws -> Connection.Location

    /// The number of the database's sessions that wait for a locked row.
    func countLockWaits() throws -> Int
}

extension ServerDatabase {
    /// Several relays may work on one server.
    package var allowsSeveralWriters: Bool { true }

    /// Opens the database with the given options, through another port if given.
    ///
    /// Tries again for half a minute: on a machine that is busy with other tests, connecting may take longer than the
    /// short limits of some cases allow.
    package func open(
        _ options: ServerOptions, through port: UInt16? = nil
    ) async throws -> any PooledStorage {
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            do {
                return try await openOnce(options, through: port)
            } catch let error as StorageError where error.isTransient && ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    /// Makes one attempt to open the database with the given options, through another port if given.
    package func openOnce(
        _ options: ServerOptions, through port: UInt16? = nil
    ) async throws -> any PooledStorage {
        let place = try port.map { try location(port: $0) } ?? location
        return try await ServerStorage<Connection>.open(place, options: options)
    }

    /// Opens the database with an account that may have at most `connectionsMax` connections.
    package func open(_ options: ServerOptions, connectionsMax: Int) async throws -> any PooledStorage {
        try await ServerStorage<Connection>.open(
            try location(connectionsMax: connectionsMax), options: options)
    }

    /// Opens a separate connection for the test, with a deadline in half a minute.
    package func connect() throws -> Connection {
        let connection = try Connection.open(location, options: .patient)
        connection.deadline = .now + .seconds(30)
        return connection
    }

    /// Opens the database as the program does, but with time for a machine that is busy with other tests.
    package func open() async throws(StorageError) -> any Storage {
        try await ServerStorage<Connection>.open(location, options: .patient)
    }

    /// Opens the database like a command that must not change anything.
    package func openReadOnly() async throws(StorageError) -> any Storage {
        var options = ServerOptions.patient
        options.access = .readOnly
        return try await ServerStorage<Connection>.open(location, options: options)
    }

    /// Returns nil: a server's space can't be limited.
    package func openAlmostFull() async throws(StorageError) -> (any Storage)? {
        nil
    }

    /// Writes a schema version, as a newer program would.
    package func setSchemaVersion(_ version: Int) async throws {
        _ = try connect().execute(
            "INSERT INTO relay_schema (version, summary) VALUES (?, 'from the future')",
            [.integer(Int64(version))])
    }

    /// Runs statements, each separately.
    package func run(_ statements: [String]) async throws {
        let connection = try connect()
        for statement in statements { try connection.run(statement) }
    }

    /// Clears the tables in any order, since none refers to another.
    package func clear() async throws {
        let connection = try connect()
        let tables = try connection.texts(
            """
            SELECT table_name FROM information_schema.tables
            WHERE table_schema = \(Connection.schema.currentSchema) AND table_name <> 'relay_schema'
            """)
        for table in tables { try connection.run("DELETE FROM \(table)") }
    }

    /// The number of rows in a table.
    package func count(of table: String) async throws -> Int {
        Int(try connect().integer("SELECT count(*) FROM \(table)") ?? -1)
    }
}

extension ServerOptions {
    /// Options that wait longer than a relay does: on a machine that is busy with other tests, connecting may take more
    /// than three seconds.
    package static var patient: ServerOptions {
        var options = ServerOptions()
        options.connectTimeout = .seconds(30)
        options.callTimeout = .seconds(60)
        return options
    }
}
