import Storage
import StorageContract
import StoragePostgres
import Testing

/// The example in the module's documentation, line by line.
@Suite(
    "Example of StoragePostgres", .enabled(if: PostgresServer.url != nil, PostgresServer.leftOut),
    .timeLimit(.minutes(2)))
struct ExampleTests {
    @Test("a database is opened and its schema created")
    func open() async throws {
        let database = try PostgresDatabase()
        let url = try PostgresServer.url(database: database.name)

        // Such as postgres://relay@db.example.org/relay?sslmode=verify-full
        let location = try PostgresLocation(url: url)
        var options = ServerOptions()
        options.connectionsMax = 4
        let storage = try await PostgresStorage.open(location, options: options)

        #expect(!storage.appliedSteps.isEmpty)
        #expect(try await storage.devices(of: Samples.key("secret")) == [])
        await storage.close()
        await database.destroy()
    }
}
