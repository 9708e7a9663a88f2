import Dispatch
import Testing

@testable import Storage

/// A server that stops before each statement until it may continue, and has one device for each requested hash.
private final class SlowServer: Sendable {
    private struct State {
        var statements: [Int] = []
        var failures: [SQLFailure] = []
    }

    private let state = Guarded(State())
    private let gate = DispatchSemaphore(value: 0)

    /// The number of different hashes in each statement.
    var statements: [Int] { state.withLock { $0.statements } }

    /// Lets a number of statements through.
    func allow(_ count: Int) {
        for _ in 0..<count { gate.signal() }
    }

    /// Makes the next statements fail.
    func fail(_ failures: [SQLFailure]) {
        state.withLock { $0.failures = failures }
    }

    func rows(_ parameters: [SQLValue]) throws(SQLFailure) -> [SQLRow] {
        let hashes = Set(
            parameters.compactMap { value -> String? in
                guard case .text(let text) = value else { return nil }
                return text
            })
        let failure = state.withLock { state -> SQLFailure? in
            state.statements.append(hashes.count)
            return state.failures.isEmpty ? nil : state.failures.removeFirst()
        }
        gate.wait()
        if let failure { throw failure }
        return hashes.map { hash in
            // The device of hash "bad…" has no readable time.
            let time: SQLValue = hash.hasPrefix("bad") ? .text("?") : .integer(1)
            return SQLRow(
                [
                    .text("id-" + hash.prefix(4)), .text(hash), .text(hash), .text("app"),
                    .text("production"),
                    time, .integer(1), .null, .null, .null, .null, .null, .null, .null, .null,
                ])
        }
    }
}

/// A connection to a slow server.
private final class SlowConnection: ServerConnection {
    static let dialect = SQLDialect(begin: "BEGIN", countTables: "SELECT 1")
    static let schema = SchemaDialect(
        currentSchema: "x", clock: "SELECT 0",
        writer: SchemaWriter(type: { _, _ in "" }, options: { _ in "" }, adoption: []))

    private let server: SlowServer
    var deadline = ContinuousClock.now
    private(set) var isUsable = true
    let isInTransaction = false

    private init(_ server: SlowServer) { self.server = server }

    static func open(_ location: SlowServer, options: ServerOptions) throws(SQLFailure) -> SlowConnection {
        SlowConnection(location)
    }

    func execute(_ sql: String, _ parameters: [SQLValue]) throws(SQLFailure) -> Int { 0 }

    func query(
        _ sql: String, _ parameters: [SQLValue], row: (SQLRow) throws(SQLFailure) -> Void
    ) throws(SQLFailure) {
        // The pool's own query, which checks an idle connection.
        guard !parameters.isEmpty else { return try row(SQLRow([.integer(1)])) }
        do throws(SQLFailure) {
            for found in try server.rows(parameters) { try row(found) }
        } catch {
            if error.kind == .connectionLost { isUsable = false }
            throw error
        }
    }

    func run(_ sql: String) throws(SQLFailure) {}

    func checkSchemaRights(tables: [String]) throws(SQLFailure) {}

    func withSchemaLock<Result>(
        _ body: () throws(SQLFailure) -> Result
    ) throws(SQLFailure) -> Result {
        try body()
    }
}

@Suite("Calls that share a statement", .timeLimit(.minutes(2)))
struct SharedCallTests {
    private typealias Lookups = SharedCalls<SecretKey, [Device]>

    private var options: ServerOptions {
        var options = ServerOptions()
        options.callTimeout = .seconds(60)
        options.waitingCallsMax = 200
        options.reconnectDelayMin = .milliseconds(1)
        return options
    }

    private func hash(_ number: Int, prefix: String = "") throws -> SecretHash {
        let digits = String(number, radix: 16)
        let zeros = String(repeating: "0", count: 64 - prefix.count - digits.count)
        return try #require(SecretHash(hex: prefix + zeros + digits))
    }

    private func key(_ number: Int, prefix: String = "") throws -> SecretKey {
        SecretKey(primary: try hash(number, prefix: prefix))
    }

    private func lookups(_ pool: ConnectionPool) -> Lookups {
        Lookups(pool: pool, options: options, isChange: false) { session, keys throws(SQLFailure) in
            try session.devices(of: keys).map { .success($0) }
        }
    }

    private func withLookups(
        _ body: (Lookups, SlowServer) async throws -> Void
    ) async throws {
        let server = SlowServer()
        let pool = ConnectionPool(of: SlowConnection.self, to: server, options: options)
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await body(lookups(pool), server))
        } catch {
            outcome = .failure(error)
        }
        server.allow(1_000)
        await pool.close()
        try outcome.get()
    }

    /// Looks keys up concurrently; the first two start statements, and the others wait until the gate opens.
    private func results(
        _ keys: [SecretKey], _ lookups: Lookups, _ server: SlowServer
    ) async -> [Result<[Device], StorageError>] {
        let failures = Guarded(0)
        return await withTaskGroup(of: (Int, Result<[Device], StorageError>).self) { group in
            for (index, key) in keys.enumerated() {
                group.addTask {
                    do throws(StorageError) {
                        return (index, .success(try await lookups.perform(key)))
                    } catch {
                        failures.withLock { $0 += 1 }
                        return (index, .failure(error))
                    }
                }
                // In order: the first two start their statements before the next look-up is made.
                if index < 2 { while server.statements.count <= index { await Task.yield() } }
            }
            while lookups.waitingCount + failures.withLock({ $0 }) < keys.count - 2 { await Task.yield() }
            server.allow(1_000)
            var results: [Int: Result<[Device], StorageError>] = [:]
            for await (index, result) in group { results[index] = result }
            return keys.indices.compactMap { results[$0] }
        }
    }

    @Test("A lone look-up has a statement of its own, at once")
    func alone() async throws {
        try await withLookups { lookups, server in
            server.allow(1)
            let key = try key(7)
            #expect(try await lookups.perform(key).map(\.secretHash) == [key.primary])
            #expect(server.statements == [1])
        }
    }

    @Test("Look-ups that come while two statements run share the next ones, and each gets its own devices")
    func together() async throws {
        try await withLookups { lookups, server in
            let keys = try (0..<102).map { try key($0) }
            let results = await results(keys, lookups, server)
            #expect(try results.map { try $0.get().map(\.secretHash) } == keys.map { [$0.primary] })
            #expect(server.statements.count < 10)
            #expect(server.statements.reduce(0, +) == keys.count)
            #expect(server.statements.max() == options.callsPerSharedStatementMax)
        }
    }

    @Test("Look-ups of one secret find its devices once for all of them")
    func oneSecret() async throws {
        try await withLookups { lookups, server in
            let key = try key(1)
            let results = await results(Array(repeating: key, count: 30), lookups, server)
            #expect(try results.allSatisfy { try $0.get().count == 1 })
            #expect(server.statements.allSatisfy { $0 == 1 })
        }
    }

    @Test("One statement names all hashes of a secret")
    func legacy() async throws {
        try await withLookups { lookups, server in
            let keys = try (0..<60).map { number in
                SecretKey(
                    primary: try hash(number),
                    legacy: [try hash(number, prefix: "a"), try hash(number, prefix: "b")])
            }
            let results = await results(keys, lookups, server)
            #expect(try results.map { Set(try $0.get().map(\.secretHash)) } == keys.map { Set($0.hashes) })
            #expect(server.statements.allSatisfy { $0.isMultiple(of: 3) })
        }
    }

    @Test("A row that can't be read fails only the look-ups of its secret")
    func corrupt() async throws {
        try await withLookups { lookups, server in
            let keys = try (0..<20).map { try key($0, prefix: $0 == 9 ? "bad" : "") }
            let results = await results(keys, lookups, server)
            for (index, result) in results.enumerated() {
                if index == 9 {
                    guard case .failure(.corrupt) = result else { Issue.record("\(result)"); continue }
                } else {
                    #expect(try result.get().count == 1)
                }
            }
        }
    }

    @Test("Look-ups whose connection is lost are made again on another, and fail if that is lost too")
    func lost() async throws {
        let lost = SQLFailure(.connectionLost, .unavailable(logDetail: "lost"))
        try await withLookups { lookups, server in
            server.fail([lost])
            server.allow(2)
            #expect(try await lookups.perform(try key(1)).count == 1)
            server.fail([lost, lost])
            server.allow(2)
            let key = try key(2)
            await #expect(throws: lost.error) { try await lookups.perform(key) }
        }
    }

    @Test("More look-ups than may wait are refused, and the others are answered")
    func bounded() async throws {
        try await withLookups { lookups, server in
            let keys = try (0..<options.waitingCallsMax + 5).map { try key($0) }
            let results = await results(keys, lookups, server)
            var refusals = 0
            for result in results {
                switch result {
                case .success(let devices): #expect(devices.count == 1)
                case .failure(.unavailable): refusals += 1
                case .failure(let error): Issue.record("\(error)")
                }
            }
            #expect(refusals == 3)
        }
    }

    @Test("Look-ups that have waited for too long fail without a statement, and later ones are answered")
    func late() async throws {
        let server = SlowServer()
        let began = ContinuousClock.now
        let passed = Guarded(Duration.zero)
        let pool = ConnectionPool(of: SlowConnection.self, to: server, options: options)
        let lookups = Lookups(
            pool: pool, options: options, isChange: false, now: { began + passed.withLock { $0 } }
        ) { session, keys throws(SQLFailure) in
            try session.devices(of: keys).map { .success($0) }
        }
        let keys = try (0..<3).map { try key($0) }
        async let first = lookups.perform(keys[0])
        while server.statements.count < 1 { await Task.yield() }
        async let second = lookups.perform(keys[1])
        while server.statements.count < 2 { await Task.yield() }
        async let third = lookups.perform(keys[2])
        while lookups.waitingCount == 0 { await Task.yield() }
        passed.withLock { $0 = options.callTimeout / 2 }
        server.allow(1_000)
        #expect(try await first.count == 1)
        #expect(try await second.count == 1)
        do {
            _ = try await third
            Issue.record("a look-up that waited for too long was answered")
        } catch {
            guard case .timeout = error as? StorageError else { throw error }
        }
        #expect(server.statements.count == 2)
        #expect(try await lookups.perform(keys[2]).count == 1)
        await pool.close()
    }

    @Test("After the pool is closed, look-ups fail")
    func closed() async throws {
        let server = SlowServer()
        let pool = ConnectionPool(of: SlowConnection.self, to: server, options: options)
        let lookups = lookups(pool)
        await pool.close()
        let key = try key(1)
        await #expect(throws: StorageError.closed) { try await lookups.perform(key) }
        #expect(lookups.waitingCount == 0)
    }
}
