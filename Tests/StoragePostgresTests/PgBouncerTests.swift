import Glibc
import OwnThread
import Storage
import StorageContract
import StoragePostgres
import Testing

/// The pooler in transaction mode that the tests' scripts start in front of the server.
private enum Pooler {
    static let url = getenv("RELAY_TEST_PGBOUNCER_URL").map { String(cString: $0) }
}

private let pooled = DatabaseShelf { try PooledDatabase() }

@Suite(
    "Postgres through PgBouncer",
    .enabled(
        if: Pooler.url != nil && PostgresServer.url != nil,
        "left out: RELAY_TEST_PGBOUNCER_URL names no pooler; Tests/Support/databases run swift test starts one"
    ), .timeLimit(.minutes(2)), .ownThread, pooled)
struct PgBouncerTests {
    @Test("keeps the storage contract, each transaction on another connection", arguments: ContractCase.all)
    func contract(_ contract: ContractCase) async throws {
        try await pooled.run(contract)
    }

    @Test("more relays than the pooler has connections wait for one another and all get answers")
    func many() async throws {
        let database = try PooledDatabase()
        var storages: [any Storage] = []
        for _ in 0..<4 { storages.append(try await database.open(patience: .seconds(30))) }
        let opened = storages
        let key = Samples.key("secret")
        let results = try await withThrowingTaskGroup(of: RegistrationResult.self) { group in
            for index in 0..<400 {
                group.addTask { @concurrent in
                    try await opened[index % 4].register(
                        Samples.registration("token \(index)"), under: key, deviceLimit: 300)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for storage in opened { await storage.close() }
        await database.destroy()
        #expect(results.count { $0 == .created } == 300)
        #expect(results.count { $0 == .limitReached } == 100)
    }
}

/// A Postgres database that the storage reaches through the pooler, and the test directly.
private struct PooledDatabase: ClearableDatabase {
    private let database: PostgresDatabase
    private let location: PostgresLocation

    let allowsSeveralWriters = true

    init() throws {
        database = try PostgresDatabase(query: "?prepared_statements=off", isOdd: true)
        let place = try #require(Pooler.url?.split(separator: "/").dropLast().last)
        let port = try #require(place.split(separator: ":").last.flatMap { UInt16($0) })
        location = try database.location(port: port)
    }

    /// Opens the database with time for a machine that is busy with other tests, and for the pooler's few connections.
    func open() async throws(StorageError) -> any Storage {
        try await open(patience: .seconds(30))
    }

    /// Opens a storage whose calls wait for their turn for the given time.
    func open(patience: Duration) async throws(StorageError) -> any Storage {
        var options = ServerOptions()
        options.callTimeout = patience
        options.connectTimeout = patience
        return try await PostgresStorage.open(location, options: options)
    }

    func openReadOnly() async throws(StorageError) -> any Storage {
        var options = ServerOptions.patient
        options.access = .readOnly
        return try await PostgresStorage.open(location, options: options)
    }

    func openAlmostFull() async throws(StorageError) -> (any Storage)? { nil }

    func makeOpenCodeTables(devices: [Device], deliveries: [Delivery]) async throws {
        try await database.makeOpenCodeTables(devices: devices, deliveries: deliveries)
    }

    func setSchemaVersion(_ version: Int) async throws { try await database.setSchemaVersion(version) }
    func run(_ statements: [String]) async throws { try await database.run(statements) }
    func count(of table: String) async throws -> Int { try await database.count(of: table) }
    func refuseLogRows(ofSession session: String?) async throws {
        try await database.refuseLogRows(ofSession: session)
    }
    func clear() async throws { try await database.clear() }
    func destroy() async { await database.destroy() }
}
