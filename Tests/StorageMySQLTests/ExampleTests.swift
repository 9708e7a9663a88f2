import Storage
import StorageContract
import StorageMySQL
import Testing

/// The example in the module's documentation, line by line.
@Suite("Example of StorageMySQL", MySQLServer.isThere, .timeLimit(.minutes(2)))
struct ExampleTests {
    @Test("a database is opened and its schema created")
    func open() async throws {
        let database = try MySQLDatabase()
        let url = try MySQLServer.url(database: database.name)

        // Such as mysql://relay@db.example.org/relay?ssl-mode=verify-identity
        let location = try MySQLLocation(url: url)
        var options = ServerOptions()
        options.connectionsMax = 4
        let storage = try await MySQLStorage.open(location, options: options)

        #expect(!storage.appliedSteps.isEmpty)
        #expect(try await storage.devices(of: Samples.key("secret")) == [])
        await storage.close()
        await database.destroy()
    }
}
