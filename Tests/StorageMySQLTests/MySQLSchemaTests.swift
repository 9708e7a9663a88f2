import Storage
import StorageContract
import StorageMySQL
import Testing

@Suite("MySQL's schema", MySQLServer.isThere, .timeLimit(.minutes(2)))
struct MySQLSchemaTests {
    @Test(
        "a migration that stops after any statement is finished by the next one", arguments: [false, true])
    func interrupted(adopting: Bool) async throws {
        let (pending, uninterrupted) = try await Self.withDatabase(adopting) { database in
            let pending = try await MySQLStorage.pendingSteps(at: database.location)
            await (try await MySQLStorage.open(database.location)).close()
            return (pending, try Self.definitions(in: database))
        }
        var done: [String] = []
        for step in pending {
            for statement in step.statements {
                done.append(statement)
                try await finish(done, adopting, uninterrupted)
            }
            done.append("INSERT INTO relay_schema (version, summary) VALUES (\(step.step.rawValue), 'done')")
            try await finish(done, adopting, uninterrupted)
        }
    }

    @Test("OpenCode's tables are adopted although an earlier attempt began without them")
    func appearingTables() async throws {
        let uninterrupted = try await Self.withDatabase(true) { database in
            await (try await MySQLStorage.open(database.location)).close()
            return try Self.definitions(in: database)
        }
        try await finish([MySQLConnection.schema.createVersionTable], true, uninterrupted)
    }

    /// Opens a database in which an earlier attempt ran some statements; its tables must be those of one that ran them
    /// all.
    private func finish(_ statements: [String], _ adopting: Bool, _ uninterrupted: [String]) async throws {
        try await Self.withDatabase(adopting) { database in
            let connection = try database.connect()
            for statement in statements {
                do throws(SQLFailure) {
                    try connection.run(statement)
                } catch {
                    try #require(error.kind == .alreadyExists)
                }
            }
            let storage = try await MySQLStorage.open(database.location)
            #expect(try await storage.schemaVersion() == SchemaStep.current)
            let definitions = try Self.definitions(in: database)
            #expect(definitions == uninterrupted, "after \(statements.count) statements")
            let key = Samples.key("secret")
            for token in ["aa", "AA", "aa "] {
                let result = try await storage.register(
                    Samples.registration(token), under: key, deviceLimit: 9)
                #expect(result == .created)
            }
            await storage.close()
        }
    }

    /// How the server defines each of the database's tables.
    private static func definitions(in database: MySQLDatabase) throws -> [String] {
        let connection = try database.connect()
        let tables = try connection.texts(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = database() ORDER BY table_name"
        )
        return try tables.map { table in
            var definition = ""
            try connection.query("SHOW CREATE TABLE \(table)", []) { row throws(SQLFailure) in
                definition = try row.text(1)
            }
            return definition
        }
    }

    private static func withDatabase<Output>(
        _ adopted: Bool, _ body: (MySQLDatabase) async throws -> Output
    ) async throws -> Output {
        let database = try MySQLDatabase(adopted: adopted)
        let outcome: Result<Output, any Error>
        do { outcome = .success(try await body(database)) } catch { outcome = .failure(error) }
        await database.destroy()
        return try outcome.get()
    }
}
