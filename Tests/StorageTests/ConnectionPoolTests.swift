import StorageContract
import Testing

@testable import Storage

/// A server's scripted behaviour, statement by statement, and the statements that it received.
private final class Script: Sendable {
    private struct State {
        var failures: [SQLFailure?]
        var statements: [String] = []
        var connections = 0
        var refusals = 0
        var lockFailure: SQLFailure?
    }

    private let state: Guarded<State>

    /// `failures`: how each statement in turn fails, nil for one that works; all later ones work.
    init(_ failures: [SQLFailure?] = [], refusals: Int = 0) {
        state = Guarded(State(failures: failures, refusals: refusals))
    }

    /// A server on which the schema can't be locked.
    init(withoutLock failure: SQLFailure) {
        state = Guarded(State(failures: [], lockFailure: failure))
    }

    func lock() throws(SQLFailure) {
        if let failure = state.withLock(\.lockFailure) { throw failure }
    }

    var statements: [String] { state.withLock { $0.statements } }
    var connections: Int { state.withLock { $0.connections } }

    func connect() throws(SQLFailure) {
        let isRefused = state.withLock { state in
            state.connections += 1
            state.refusals -= 1
            return state.refusals >= 0
        }
        if isRefused { throw SQLFailure(.connectionLost, .unavailable(logDetail: "refused")) }
    }

    func run(_ sql: String) throws(SQLFailure) {
        let failure = state.withLock { state -> SQLFailure? in
            state.statements.append(sql)
            return state.failures.isEmpty ? nil : state.failures.removeFirst()
        }
        if let failure { throw failure }
    }
}

/// A connection to a scripted server.
private final class ScriptedConnection: ServerConnection {
    static let dialect = SQLDialect(
        begin: "BEGIN", countTables: "SELECT 1", insertUnlessPresent: { "INSERT " + $0 },
        deleteFirst: { _ in "DELETE" })
    static let schema = SchemaDialect(
        currentSchema: "x", clock: "SELECT 0",
        writer: SchemaWriter(type: { _, _ in "" }, options: { _ in "" }, adoption: []))

    let script: Script
    var deadline = ContinuousClock.now
    private(set) var isUsable = true
    private(set) var isInTransaction = false

    private init(_ script: Script) { self.script = script }

    static func open(_ location: Script, options: ServerOptions) throws(SQLFailure) -> ScriptedConnection {
        try location.connect()
        return ScriptedConnection(location)
    }

    func execute(_ sql: String, _ parameters: [SQLValue]) throws(SQLFailure) -> Int {
        try run(sql)
        return 1
    }

    func query(
        _ sql: String, _ parameters: [SQLValue], row: (SQLRow) throws(SQLFailure) -> Void
    ) throws(SQLFailure) {
        try run(sql)
    }

    func run(_ sql: String) throws(SQLFailure) {
        do throws(SQLFailure) {
            try script.run(sql)
        } catch {
            if error.kind == .connectionLost { isUsable = false }
            throw error
        }
        if sql == "BEGIN" { isInTransaction = true }
        if sql == "COMMIT" || sql == "ROLLBACK" { isInTransaction = false }
    }

    func checkSchemaRights(tables: [String]) throws(SQLFailure) {}

    func trySchemaLock() throws(SQLFailure) { try script.lock() }

    func withSchemaLock<Result>(
        _ body: () throws(SQLFailure) -> Result
    ) throws(SQLFailure) -> Result {
        try body()
    }
}

@Suite("Calls on pooled connections", .timeLimit(.minutes(2)))
struct ConnectionPoolTests {
    private let conflict = SQLFailure(.conflict, .unavailable(logDetail: "deadlock"))
    private let lost = SQLFailure(.connectionLost, .unavailable(logDetail: "lost"))

    private var options: ServerOptions {
        var options = ServerOptions()
        options.connectionsMax = 1
        options.callTimeout = .seconds(60)
        options.conflictDelay = .microseconds(10)
        options.conflictAttemptsMax = 5
        options.reconnectDelayMin = .milliseconds(1)
        return options
    }

    /// Makes a one-statement call in a transaction; true if it was told that it may have been executed before.
    private func change(_ script: Script) async -> Result<Bool, StorageError> {
        let pool = ConnectionPool(of: ScriptedConnection.self, to: script, options: options)
        let result: Result<Bool, StorageError>
        do throws(StorageError) {
            let isRepeated = try await pool.perform(within: .seconds(60)) { session, _ throws(SQLFailure) in
                try session.transaction { () throws(SQLFailure) in
                    _ = try session.execute("UPDATE", [])
                    return session.isRepeated
                }
            }
            result = .success(isRepeated)
        } catch {
            result = .failure(error)
        }
        await pool.close()
        return result
    }

    @Test("A transaction that meets a conflict is taken back and run again on the same connection")
    func conflicts() async {
        let script = Script([nil, conflict, nil, nil, nil, conflict])
        #expect(await change(script) == .success(false))
        #expect(
            script.statements == [
                "BEGIN", "UPDATE", "ROLLBACK", "BEGIN", "UPDATE", "COMMIT", "ROLLBACK", "BEGIN", "UPDATE",
                "COMMIT",
            ])
        #expect(script.connections == 1)
    }

    @Test("An inspection finds that a server lacks what migrating needs")
    func inspection() async {
        let failure = SQLFailure(.other, .unsuitable(logDetail: "no get_lock"))
        let error = await #expect(throws: StorageError.self) {
            _ = try await ServerStorage<ScriptedConnection>.inspection(
                at: Script(withoutLock: failure), options: options, id: Samples.id()
            ) { 0 }
        }
        #expect(error == failure.error)
    }

    @Test("Conflicts have an end")
    func conflictsEnd() async {
        let script = Script(Array(repeating: [nil, conflict, nil], count: 50).flatMap(\.self))
        #expect(await change(script) == .failure(conflict.error))
        #expect(script.statements.count { $0 == "BEGIN" } == options.conflictAttemptsMax)
    }

    @Test("What was lost before its COMMIT was not done, and is run again as if for the first time")
    func lostBefore() async {
        let script = Script([nil, lost])
        #expect(await change(script) == .success(false))
        #expect(script.statements == ["BEGIN", "UPDATE", "BEGIN", "UPDATE", "COMMIT"])
        #expect(script.connections == 2)
    }

    @Test("What was lost at its COMMIT is run again, and told that it may have been done")
    func lostAt() async {
        let script = Script([nil, nil, lost])
        #expect(await change(script) == .success(true))
        #expect(script.connections == 2)
    }

    @Test("Lost twice is lost")
    func lostTwice() async {
        let script = Script([nil, lost, nil, lost])
        #expect(await change(script) == .failure(lost.error))
        #expect(script.statements.count == 4)
    }

    @Test("A failure that nothing helps against is reported at once")
    func others() async {
        let failure = SQLFailure(.other, .full(logDetail: "disk"))
        let script = Script([nil, failure])
        #expect(await change(script) == .failure(failure.error))
        #expect(script.statements == ["BEGIN", "UPDATE", "ROLLBACK"])
    }

    @Test("A server that refuses fails the call that waits, and is found again without another call")
    func refused() async throws {
        let script = Script(refusals: 3)
        let pool = ConnectionPool(of: ScriptedConnection.self, to: script, options: options)
        await #expect(throws: StorageError.unavailable(logDetail: "refused")) {
            try await pool.perform(within: .seconds(60)) { _, _ throws(SQLFailure) in }
        }
        while script.connections < 4 || pool.connectionCount == 0 { await Task.yield() }
        await pool.close()
        #expect(script.connections == 4)
    }

    @Test("Closing twice is allowed, and calls that come later are told")
    func closesTwice() async {
        let pool = ConnectionPool(of: ScriptedConnection.self, to: Script(), options: options)
        async let first: Void = pool.close()
        async let second: Void = pool.close()
        _ = await (first, second)
        await #expect(throws: StorageError.closed) {
            try await pool.perform(within: .seconds(60)) { _, _ throws(SQLFailure) in }
        }
    }
}
