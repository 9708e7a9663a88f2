package import Storage

/// A storage with a pool whose connections can be counted.
package protocol PooledStorage: Storage {
    /// How many connections there are, those included that are being opened.
    var connectionCount: Int { get }
}

extension ServerStorage: PooledStorage {}

/// A database in a server on 127.0.0.1 that the tests may reach past the storage, for what only servers can do.
package protocol ServerDatabase: ClearableDatabase {
    /// The driver's connections.
    associatedtype Connection: ServerConnection

    /// Where it is.
    var location: Connection.Location { get }

    /// The server's port.
    var port: UInt16 { get }

    /// Where it is for those who reach the server by another port of 127.0.0.1.
    func location(port: UInt16) throws -> Connection.Location

    /// How many connections the server counts to this database, that of the question left out.
    func countSessions() throws -> Int

    /// Has the server end every connection to this database but that of the order.
    func endSessions() throws

    /// Keeps everybody from a table until the returned function is called.
    func lock(_ table: String) throws -> @Sendable () throws -> Void

    /// Where the database is for an account of its own that may have so many connections at once.
    func location(connectionsMax: Int) throws -> Connection.Location

    /// How many of the database's sessions wait for a row that another has locked.
    func countLockWaits() throws -> Int
}

extension ServerDatabase {
    /// Several relays may work on one server.
    package var allowsSeveralWriters: Bool { true }

    /// Opens it with options of its own, by way of another port if need be.
    package func open(
        _ options: ServerOptions, through port: UInt16? = nil
    ) async throws -> any PooledStorage {
        let place = try port.map { try location(port: $0) } ?? location
        return try await ServerStorage<Connection>.open(place, options: options)
    }

    /// Opens it with an account that may have so many connections at once.
    package func open(_ options: ServerOptions, connectionsMax: Int) async throws -> any PooledStorage {
        try await ServerStorage<Connection>.open(
            try location(connectionsMax: connectionsMax), options: options)
    }

    /// A connection of the test's own, whose deadline is half a minute away.
    package func connect() throws -> Connection {
        let connection = try Connection.open(location, options: .patient)
        connection.deadline = .now + .seconds(30)
        return connection
    }

    /// As the program does, but with time for a machine that is busy with other tests.
    package func open() async throws(StorageError) -> any Storage {
        try await ServerStorage<Connection>.open(location, options: .patient)
    }

    /// As a command does that must not change anything.
    package func openReadOnly() async throws(StorageError) -> any Storage {
        var options = ServerOptions()
        options.access = .readOnly
        return try await ServerStorage<Connection>.open(location, options: options)
    }

    /// A server can't be told.
    package func openAlmostFull() async throws(StorageError) -> (any Storage)? {
        nil
    }

    /// As a newer program would.
    package func setSchemaVersion(_ version: Int) async throws {
        _ = try connect().execute(
            "INSERT INTO relay_schema (version, summary) VALUES (?, 'from the future')",
            [.integer(Int64(version))])
    }

    /// Runs statements, each by itself.
    package func run(_ statements: [String]) async throws {
        let connection = try connect()
        for statement in statements { try connection.run(statement) }
    }

    /// In any order, since no table refers to another.
    package func clear() async throws {
        let connection = try connect()
        let tables = try connection.texts(
            """
            SELECT table_name FROM information_schema.tables
            WHERE table_schema = \(Connection.schema.currentSchema) AND table_name <> 'relay_schema'
            """)
        for table in tables { try connection.run("DELETE FROM \(table)") }
    }

    /// How many rows a table has.
    package func count(of table: String) async throws -> Int {
        Int(try connect().integer("SELECT count(*) FROM \(table)") ?? -1)
    }
}

extension ServerOptions {
    /// Waits longer than a relay does: a machine that is busy with other tests may need more than three seconds for a
    /// connection.
    package static var patient: ServerOptions {
        var options = ServerOptions()
        options.connectTimeout = .seconds(30)
        options.callTimeout = .seconds(60)
        return options
    }
}
