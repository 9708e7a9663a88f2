import Storage
import StorageContract
import StorageMySQL
import Testing

@Suite("MySQL's schema", MySQLServer.isThere, .timeLimit(.minutes(2)))
struct MySQLSchemaTests {
    @Test(
        "a migration that was cut after any statement is finished by the next one", arguments: [false, true])
    func cut(adopting: Bool) async throws {
        let pending = try await Self.withDatabase(adopting) { database in
            try await MySQLStorage.pendingSteps(at: database.location)
        }
        var done: [String] = []
        for step in pending {
            for statement in step.statements {
                done.append(statement)
                try await finish(done, adopting)
            }
            done.append("INSERT INTO relay_schema (version, summary) VALUES (\(step.step.rawValue), 'done')")
        }
    }

    /// Opens a database on which an earlier attempt ran some statements, and looks whether keys are what they should be.
    private func finish(_ statements: [String], _ adopting: Bool) async throws {
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
            let key = Samples.key("secret")
            for token in ["aa", "AA", "aa "] {
                let result = try await storage.register(
                    Samples.registration(token), under: key, deviceLimit: 9)
                #expect(result == .created)
            }
            await storage.close()
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
