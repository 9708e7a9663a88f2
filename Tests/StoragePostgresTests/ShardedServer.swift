import Storage

@testable import StoragePostgres

/// The tests' Postgres server acting as one that shards by secret: its connections refuse some statements or are lost.
final class ShardedServer: Sendable {
    struct Faults {
        /// The part of the hashes in which one transaction fails.
        var bucket: Int?
        /// Whether the next insertion of several log rows stores the first one and loses its connection.
        var storesInPart = false
    }

    let location: PostgresLocation
    let faults = Guarded(Faults())

    init(_ location: PostgresLocation) {
        self.location = location
    }
}

/// A connection that refuses, as Citus does, a statement that locks rows of several secrets, and a transaction that
/// names several parts of the hashes.
final class ShardedConnection: ServerConnection {
    static var dialect: SQLDialect { PostgresConnection.dialect }
    static var schema: SchemaDialect { PostgresConnection.schema }

    private let postgres: PostgresConnection
    private let server: ShardedServer
    private var isLost = false
    /// The parts of the hashes that the open transaction has used.
    private var buckets: Set<Int> = []

    private init(_ postgres: PostgresConnection, _ server: ShardedServer) {
        self.postgres = postgres
        self.server = server
    }

    static func open(_ location: ShardedServer, options: ServerOptions) throws(SQLFailure)
        -> ShardedConnection
    {
        ShardedConnection(try PostgresConnection.open(location.location, options: options), location)
    }

    var deadline: ContinuousClock.Instant {
        get { postgres.deadline }
        set { postgres.deadline = newValue }
    }
    var isUsable: Bool { postgres.isUsable && !isLost }
    var isInTransaction: Bool { postgres.isInTransaction }

    func execute(_ sql: String, _ parameters: [SQLValue]) throws(SQLFailure) -> Int {
        try check(parameters)
        try storeInPart(sql, parameters)
        return try postgres.execute(sql, parameters)
    }

    func query(
        _ sql: String, _ parameters: [SQLValue], row: (SQLRow) throws(SQLFailure) -> Void
    ) throws(SQLFailure) {
        try check(parameters)
        if sql.contains("FOR UPDATE"), hashes(in: parameters).count > 1 {
            let detail = "0A000 could not run distributed query with FOR UPDATE"
            throw SQLFailure(.other, .unavailable(logDetail: detail))
        }
        try postgres.query(sql, parameters, row: row)
    }

    func run(_ sql: String) throws(SQLFailure) {
        buckets = []
        try postgres.run(sql)
    }

    func shardsBySecret() throws(SQLFailure) -> Bool { try postgres.shardsBySecret() }

    func checkSchemaRights(tables: [String]) throws(SQLFailure) {
        try postgres.checkSchemaRights(tables: tables)
    }

    func withSchemaLock<Result>(
        _ body: () throws(SQLFailure) -> Result
    ) throws(SQLFailure) -> Result {
        try postgres.withSchemaLock(body)
    }

    private func hashes(in parameters: [SQLValue]) -> Set<SecretHash> {
        Set(
            parameters.compactMap { parameter in
                guard case .text(let text) = parameter else { return nil }
                return SecretHash(hex: text)
            })
    }

    private func check(_ parameters: [SQLValue]) throws(SQLFailure) {
        guard isInTransaction else { return }
        buckets.formUnion(hashes(in: parameters).map(\.bucket))
        guard buckets.count <= 1 else {
            throw SQLFailure(.other, .internalFault(logDetail: "a transaction names several parts"))
        }
        let fails = server.faults.withLock { faults in
            guard let bucket = faults.bucket, buckets.contains(bucket) else { return false }
            faults.bucket = nil
            return true
        }
        if fails { throw SQLFailure(.other, .timeout(logDetail: "the part doesn't answer")) }
    }

    private func storeInPart(_ sql: String, _ parameters: [SQLValue]) throws(SQLFailure) {
        let start = "INSERT INTO delivery_log"
        guard sql.hasPrefix(start), let end = sql.firstRange(of: "), (") else { return }
        let columns = sql[..<end.lowerBound].count { $0 == "?" }
        let isFaulty = server.faults.withLock { faults in
            defer { faults.storesInPart = false }
            return faults.storesInPart
        }
        guard isFaulty else { return }
        _ = try postgres.execute(String(sql[...end.lowerBound]), Array(parameters.prefix(columns)))
        isLost = true
        throw SQLFailure(.connectionLost, .unavailable(logDetail: "lost"))
    }
}
