import OwnThread
import Storage
import StorageContract
import StorageMySQL
import Testing

@Suite("MySQL's schema", MySQLServer.isThere, .timeLimit(.minutes(2)), .ownThread)
struct MySQLSchemaTests {
    @Test(
        "a migration that stops after any statement is finished by the next one", arguments: [false, true])
    func interrupted(adopting: Bool) async throws {
        let (pending, uninterrupted) = try await Self.withDatabase(adopting) { database in
            let pending = try await MySQLStorage.pendingSteps(at: database.location, options: .patient)
            await (try await MySQLStorage.open(database.location, options: .patient)).close()
            return (pending, try Self.definitions(in: database))
        }
        var done: [String] = []
        for step in pending {
            for statement in step.statements {
                done.append(statement)
                try await finish(done, adopting, uninterrupted)
            }
            done.append(step.step.insertion)
            try await finish(done, adopting, uninterrupted)
        }
    }

    @Test("OpenCode's tables are adopted although an earlier attempt began without them")
    func appearingTables() async throws {
        let uninterrupted = try await Self.withDatabase(true) { database in
            await (try await MySQLStorage.open(database.location, options: .patient)).close()
            return try Self.definitions(in: database)
        }
        try await finish([MySQLConnection.schema.writer.createVersionTable], true, uninterrupted)
    }

    @Test(
        "a text that a column can't hold, or that comes back changed, fails a trial write as the server's setting",
        arguments: [
            "ALTER TABLE event_reply MODIFY reply_text text CHARACTER SET utf8mb3 NULL",
            "CREATE TRIGGER garble BEFORE INSERT ON history_item FOR EACH ROW SET NEW.title = '????'",
        ])
    func texts(change: String) async throws {
        try await Self.withDatabase(false) { database in
            let storage = try await MySQLStorage.open(database.location, options: .patient)
            try await storage.tryWriting(id: Samples.id(), at: Samples.time)
            try database.connect().run(change)
            let error = await #expect(throws: StorageError.self) {
                try await storage.tryWriting(id: Samples.id(), at: Samples.time)
            }
            guard case .unsuitable = error else {
                Issue.record("got \(String(describing: error))")
                return await storage.close()
            }
            let found = try await MySQLStorage.inspection(
                at: database.location, options: .patient, id: Samples.id()
            ) { Samples.time }
            #expect(found.write == .failed(try #require(error)))
            await storage.close()
        }
    }

    @Test("a database whose name is as long as MySQL allows can be migrated", arguments: MySQLServer.all)
    func longName(_ server: MySQLServer) async throws {
        let name = "relay_" + String(repeating: "é", count: 57) + "x"
        let administrator = try MySQLServer.connect(on: server)
        try administrator.run("CREATE DATABASE `\(name)`")
        defer { try? administrator.run("DROP DATABASE `\(name)`") }
        let location = try MySQLLocation(url: try MySQLServer.url(database: name, on: server))
        let storage = try await MySQLStorage.open(location, options: .patient)
        #expect(try await storage.schemaVersion() == SchemaStep.current)
        await storage.close()
    }

    /// Opens a database in which an earlier attempt ran some statements; the tables must equal those after an attempt
    /// that ran them all.
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
            let storage = try await MySQLStorage.open(database.location, options: .patient)
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

    /// The server's definition of each of the database's tables.
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
