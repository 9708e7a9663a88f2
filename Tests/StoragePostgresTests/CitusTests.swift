import Storage
import StorageContract
import Testing

@testable import StoragePostgres

/// A Postgres connection that refuses what Citus refuses: one statement that locks rows of several shards.
private final class CitusConnection: ServerConnection {
    static var dialect: SQLDialect { PostgresConnection.dialect }
    static var schema: SchemaDialect { PostgresConnection.schema }

    private let postgres: PostgresConnection

    private init(_ postgres: PostgresConnection) {
        self.postgres = postgres
    }

    static func open(
        _ location: PostgresLocation, options: ServerOptions
    ) throws(SQLFailure) -> CitusConnection {
        CitusConnection(try PostgresConnection.open(location, options: options))
    }

    var deadline: ContinuousClock.Instant {
        get { postgres.deadline }
        set { postgres.deadline = newValue }
    }
    var isUsable: Bool { postgres.isUsable }
    var isInTransaction: Bool { postgres.isInTransaction }

    func execute(_ sql: String, _ parameters: [SQLValue]) throws(SQLFailure) -> Int {
        try postgres.execute(sql, parameters)
    }

    func query(
        _ sql: String, _ parameters: [SQLValue], row: (SQLRow) throws(SQLFailure) -> Void
    ) throws(SQLFailure) {
        let hashes = Set(
            parameters.compactMap { parameter -> SecretHash? in
                guard case .text(let text) = parameter else { return nil }
                return SecretHash(hex: text)
            })
        if sql.contains("FOR UPDATE"), hashes.count > 1 {
            let detail = "0A000 could not run distributed query with FOR UPDATE"
            throw SQLFailure(.other, .unavailable(logDetail: detail))
        }
        try postgres.query(sql, parameters, row: row)
    }

    func run(_ sql: String) throws(SQLFailure) { try postgres.run(sql) }

    func locksRowsOfSeveralSecrets() throws(SQLFailure) -> Bool {
        try postgres.locksRowsOfSeveralSecrets()
    }

    func checkSchemaRights(tables: [String]) throws(SQLFailure) {
        try postgres.checkSchemaRights(tables: tables)
    }

    func withSchemaLock<Result>(
        _ body: () throws(SQLFailure) -> Result
    ) throws(SQLFailure) -> Result {
        try postgres.withSchemaLock(body)
    }
}

@Suite("Citus", .enabled(if: PostgresServer.url != nil, PostgresServer.leftOut), .timeLimit(.minutes(2)))
struct CitusTests {
    /// Settles one push of each of four secrets in one call; four fill one statement.
    private func settlesSeveralSecrets(_ query: String) async throws -> [Bool] {
        let database = try PostgresDatabase(query: query)
        defer { try? PostgresServer.administer("DROP DATABASE \(database.name) WITH (FORCE)") }
        let storage = try await ServerStorage<CitusConnection>.open(database.location)
        let result: Result<[Bool], any Error>
        do {
            var pushes: [PendingPush] = []
            for name in ["one", "two", "three", "four"] {
                let key = Samples.key(name)
                _ = try await storage.register(Samples.registration("aa"), under: key, deviceLimit: 9)
                let device = try #require(try await storage.devices(of: key).first)
                pushes.append(Samples.pending(device))
            }
            _ = try await storage.enqueue(pushes, lease: nil, limitPerSecret: 9)
            let lease = Samples.lease()
            let claimed = try await storage.claimPushes(
                dueAt: Samples.time, lease: lease, limit: 9, scope: .everySecret)
            #expect(claimed.count == pushes.count)
            let ends = pushes.map { push in
                Settlement(
                    id: push.id, secretHash: push.secretHash, owner: lease.owner,
                    end: .again(dueAt: Samples.time, attempts: 2))
            }
            result = .success(try await storage.settle(ends))
        } catch {
            result = .failure(error)
        }
        await storage.close()
        return try result.get()
    }

    @Test(
        "Pushes of several secrets are settled together, though Citus locks one secret's rows per statement")
    func settling() async throws {
        // Citus defines this setting on each of its nodes.
        let citus = "?options=-c%20citus.shard_count%3D32"
        #expect(try await settlesSeveralSecrets(citus) == [true, true, true, true])
    }

    @Test("Elsewhere one statement locks the rows of all secrets")
    func others() async throws {
        await #expect(throws: StorageError.self) { try await settlesSeveralSecrets("") }
    }
}
