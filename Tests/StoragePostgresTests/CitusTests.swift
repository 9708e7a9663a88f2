import OwnThread
import Storage
import StorageContract
import Testing

@testable import StoragePostgres

@Suite(
    "Citus", .enabled(if: PostgresServer.url != nil, PostgresServer.leftOut), .timeLimit(.minutes(2)),
    .ownThread)
struct CitusTests {
    /// Citus defines this setting on each of its nodes.
    private static let citus = "?options=-c%20citus.shard_count%3D32"
    private let keys = (0..<20).map { Samples.key("secret \($0)") }

    /// Calls `body` with a storage on a sharded server, which by default is recognised as Citus.
    private func withStorage<Result>(
        _ query: String = citus,
        _ body: (ServerStorage<ShardedConnection>, ShardedServer) async throws -> Result
    ) async throws -> Result {
        let database = try PostgresDatabase(query: query)
        defer { try? PostgresServer.administer("DROP DATABASE \(database.name) WITH (FORCE)") }
        let server = ShardedServer(database.location)
        let storage = try await ServerStorage<ShardedConnection>.open(server, options: .patient)
        let result: Swift.Result<Result, any Error>
        do {
            result = .success(try await body(storage, server))
        } catch {
            result = .failure(error)
        }
        await storage.close()
        return try result.get()
    }

    /// Queues a push for each secret and claims them all.
    private func claim(
        _ storage: some Storage, _ lease: PushLease
    ) async throws -> (queued: [PendingPush], claimed: [ClaimedPush]) {
        var pushes: [PendingPush] = []
        for key in keys {
            _ = try await storage.register(Samples.registration("aa"), under: key, deviceLimit: 9)
            let push = Samples.pending(try #require(try await storage.devices(of: key).first))
            _ = try await storage.enqueue([push], lease: nil, limitPerSecret: 9)
            pushes.append(push)
        }
        let claimed = try await storage.claimPushes(
            dueAt: Samples.time, lease: lease, limit: 99, scope: .everySecret)
        return (pushes, claimed)
    }

    private func end(_ push: PendingPush, _ lease: PushLease) -> Settlement {
        Settlement(
            id: push.id, secretHash: push.secretHash, owner: lease.owner,
            end: .again(dueAt: Samples.time, attempts: 2))
    }

    private func rows() -> [Delivery] { keys.map { Samples.delivery($0) } }

    private func stored(_ storage: some Storage) async throws -> [String] {
        var ids: [String] = []
        for key in keys { ids += try await storage.deliveries(of: key, before: nil, limit: 9).map(\.id) }
        return ids
    }

    @Test(
        "Pushes of several secrets are claimed and settled, though a transaction names one part of the hashes"
    )
    func queue() async throws {
        try await withStorage { storage, _ in
            let lease = Samples.lease()
            let (queued, claimed) = try await claim(storage, lease)
            #expect(Set(claimed.map(\.push.id)) == Set(queued.map(\.id)))
            #expect(claimed.allSatisfy { $0.device?.token == "aa" })
            // A push that nobody holds, between the others.
            let stranger = Settlement(
                id: queued[3].id, secretHash: queued[3].secretHash, owner: Samples.id(),
                end: .again(dueAt: Samples.time, attempts: 9))
            let ends = queued.indices.map { $0 == 3 ? stranger : end(queued[$0], lease) }
            #expect(try await storage.settle(ends) == queued.indices.map { $0 != 3 })
        }
    }

    @Test("If a part can't be claimed, the caller gets the pushes of those before it")
    func claimInPart() async throws {
        try await withStorage { storage, server in
            let last = try #require(keys.map(\.primary.bucket).max())
            _ = try await claim(storage, Samples.lease())
            server.faults.withLock { $0.bucket = last }
            let later = Samples.time + 100_000
            let claimed = try await storage.claimPushes(
                dueAt: later, lease: Samples.lease(from: later), limit: 99, scope: .everySecret)
            let expected = keys.map(\.primary).filter { $0.bucket != last }
            #expect(Set(claimed.map(\.push.secretHash)) == Set(expected))
        }
    }

    @Test("Log rows of several secrets are stored once each, also when a part failed before")
    func log() async throws {
        try await withStorage { storage, server in
            let rows = rows()
            let buckets = keys.map(\.primary.bucket).sorted()
            server.faults.withLock { $0.bucket = buckets[buckets.count / 2] }
            await #expect(throws: StorageError.timeout(logDetail: "the part doesn't answer")) {
                try await storage.append(rows)
            }
            let before = try await stored(storage)
            #expect(!before.isEmpty && before.count < rows.count)
            try await storage.append(rows)
            #expect(try await stored(storage) == rows.map(\.id))
        }
    }

    @Test("What else names several secrets does so in a transaction for each part of the hashes")
    func others() async throws {
        try await withStorage { storage, _ in
            let lease = Samples.lease()
            let (queued, _) = try await claim(storage, lease)
            #expect(try await storage.settle(queued.map { end($0, lease) }).allSatisfy(\.self))
            let due = queued.map { DuePush(secretHash: $0.secretHash, id: $0.id, dueAt: Samples.time) }
            #expect(try await storage.setDue(due, to: Samples.time + 1) == keys.count)

            for key in keys {
                _ = try await storage.register(Samples.registration("aa"), under: key, deviceLimit: 9)
            }
            let addition = try await storage.add(keys.map { Samples.item($0) }, counting: Set(keys))
            #expect(addition.stored == keys.count)
            #expect(addition.unread == Dictionary(uniqueKeysWithValues: keys.map { ($0, 1) }))

            try await storage.note(keys.map { (AgentUse(usedAt: Samples.time, client: "c"), $0) })
            for key in keys {
                #expect(try await storage.agentUse(of: key, deliveries: 1).use?.client == "c")
                _ = try await storage.create(Samples.schedule(key), under: key, limit: 9)
            }
            let claimed = try await storage.claimSchedules(
                dueAt: Samples.time, lease: lease, limit: 99, from: 0)
            #expect(Set(claimed.map(\.schedule.secretHash)) == Set(keys.map(\.primary)))
        }
    }

    @Test("If a part's schedules can't be claimed, the caller gets those before it, or the failure")
    func claimSchedulesInPart() async throws {
        try await withStorage { storage, server in
            for key in keys {
                _ = try await storage.register(Samples.registration("aa"), under: key, deviceLimit: 9)
                _ = try await storage.create(Samples.schedule(key), under: key, limit: 9)
            }
            let buckets = keys.map(\.primary.bucket).sorted()
            let middle = buckets[buckets.count / 2]
            server.faults.withLock { $0.bucket = middle }
            let claimed = try await storage.claimSchedules(
                dueAt: Samples.time, lease: Samples.lease(), limit: 99, from: 0)
            let before = keys.map(\.primary).filter { $0.bucket < middle }
            #expect(!before.isEmpty && Set(claimed.map(\.schedule.secretHash)) == Set(before))
            server.faults.withLock { $0.bucket = middle }
            await #expect(throws: StorageError.self) {
                _ = try await storage.claimSchedules(
                    dueAt: Samples.time, lease: Samples.lease(), limit: 99, from: 0)
            }
        }
    }

    @Test("Elsewhere one transaction has the rows of all secrets")
    func elsewhere() async throws {
        try await withStorage("") { storage, _ in
            let refusal = StorageError.internalFault(logDetail: "a transaction names several parts")
            await #expect(throws: refusal) { try await storage.append(rows()) }
            await #expect(throws: refusal) { _ = try await claim(storage, Samples.lease()) }
        }
    }

    @Test("Log rows that an engine stored in part, before the connection was lost, are completed")
    func partialAppend() async throws {
        // As Vitess may do; the server isn't recognised as Citus.
        try await withStorage("") { storage, server in
            let rows = (0..<4).map { Samples.delivery(keys[0], at: Samples.time - Int64($0)) }
            server.faults.withLock { $0.storesInPart = true }
            try await storage.append(rows)
            #expect(server.faults.withLock { !$0.storesInPart })
            #expect(try await stored(storage) == rows.map(\.id))
        }
    }

    @Test("Only secrets on a worker that is down fail, and the coordinator's connection stays")
    func workerDown() async throws {
        let database = try PostgresDatabase()
        defer { try? PostgresServer.administer("DROP DATABASE \(database.name) WITH (FORCE)") }
        let proxy = try CuttingProxy(before: database.port)
        defer { proxy.end() }
        var options = ServerOptions.patient
        options.connectionsMax = 1
        options.sharedStatementsMax = 1
        let storage = try await database.open(options, through: proxy.port)
        for key in keys {
            _ = try await storage.register(Samples.registration("aa"), under: key, deviceLimit: 9)
        }
        try await database.run(Self.worker(down: keys[7].primary))
        let session = try session(database)
        // Far away, so that calls queue up and share a statement.
        proxy.delay(milliseconds: 30)
        let lookups = await outcomes { key throws(StorageError) in
            try await storage.devices(of: key).map(\.token)
        }
        let claims = await outcomes { key throws(StorageError) in
            try await storage.claim(
                EventClaim(
                    id: Samples.id(), key: key, eventID: "event", content: Digest256(of: []),
                    at: Samples.time,
                    leaseUntil: Samples.time + 60_000))
        }
        for (index, (lookup, claim)) in zip(lookups, claims).enumerated() {
            guard index == 7 else {
                #expect(lookup == .success(["aa"]))
                #expect(claim == .success(.claimed))
                continue
            }
            guard case .failure(.unavailable) = lookup, case .failure(.unconfirmed) = claim else {
                Issue.record("got \(lookup) and \(claim)")
                continue
            }
        }
        #expect(try self.session(database) == session)
        await storage.close()
    }

    /// Statements that make a secret's statements fail as Citus does while the secret's worker is down.
    private static func worker(down hash: SecretHash) -> [String] {
        [
            """
            CREATE FUNCTION reach(hash text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
                IF hash = '\(hash.hex)' THEN
                    RAISE EXCEPTION 'connection to the remote node failed' USING ERRCODE = '08006';
                END IF;
                RETURN true;
            END $$
            """,
            "ALTER TABLE device_registration RENAME TO device",
            "CREATE VIEW device_registration AS SELECT * FROM device WHERE reach(secret_hash)",
            "ALTER TABLE event_receipt ADD CONSTRAINT reached CHECK (reach(secret_hash))",
        ]
    }

    /// The server's process ID for the storage's only connection.
    private func session(_ database: PostgresDatabase) throws -> Int64? {
        try database.connect().integer(
            """
            SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
            ORDER BY backend_start LIMIT 1
            """)
    }

    /// The results of concurrent calls for all secrets.
    private func outcomes<Output: Sendable>(
        _ call: @escaping @Sendable (SecretKey) async throws(StorageError) -> Output
    ) async -> [Result<Output, StorageError>] {
        await withTaskGroup(of: (Int, Result<Output, StorageError>).self) { group in
            for (index, key) in keys.enumerated() {
                group.addTask {
                    do throws(StorageError) {
                        return (index, .success(try await call(key)))
                    } catch {
                        return (index, .failure(error))
                    }
                }
            }
            var outcomes: [(Int, Result<Output, StorageError>)] = []
            for await outcome in group { outcomes.append(outcome) }
            return outcomes.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }
}
