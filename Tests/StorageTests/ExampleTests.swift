import Storage
import StorageContract
import StorageSQLite
import Testing

/// The examples in the modules' documentation, line by line.
@Suite("Examples of Storage and StorageSQLite", .timeLimit(.minutes(2)))
struct ExampleTests {
    @Test("a tenant registers a device and finds it")
    func register() async throws {
        let database = try SQLiteDatabase()
        let path = database.path
        let now = Samples.time

        let storage: any Storage = try await SQLiteStorage.open(SQLiteLocation(path: path))
        let key = SecretHasher().key(of: Secret("Kx3s0Q9-secret-of-yours"))
        var generator = SystemRandomNumberGenerator()
        let registration = Registration(
            newID: UUIDv7(at: now, using: &generator), token: "00fc13ad", bundleID: "com.example.app",
            environment: .production, at: now)
        let result = try await storage.register(registration, under: key, deviceLimit: 100)
        let devices = try await storage.devices(of: key)
        await storage.close()

        #expect(result == .created)
        #expect(devices.map(\.token) == ["00fc13ad"])
        await database.destroy()
    }

    @Test("a file is opened for writing and, at the same time, for reading")
    func open() async throws {
        let database = try SQLiteDatabase()
        let path = database.path

        let location = try SQLiteLocation(url: "sqlite:\(path)")
        let storage = try await SQLiteStorage.open(location)

        var options = SQLiteOptions()
        options.access = .readOnly
        let reader = try await SQLiteStorage.open(location, options: options)

        #expect(!storage.appliedSteps.isEmpty)
        #expect(try await reader.devices(of: Samples.key("secret")) == [])
        await reader.close()
        await storage.close()
        await database.destroy()
    }
}
