package import Storage
import Testing

/// A requirement for every storage driver, with the code that checks it.
///
/// A driver's tests run all cases, each on a new database or, with a ``DatabaseShelf``, on an emptied one:
///
///     @Test("SQLite keeps the contract", arguments: ContractCase.all)
///     func contract(_ contract: ContractCase) async throws { try await contract.run(on: SQLiteDatabase()) }
package struct ContractCase: Sendable, CustomTestStringConvertible {
    private let sentence: String
    private let body: @Sendable (any ContractDatabase) async throws -> Void
    /// Whether the case only opens the database as the program does and calls the storage.
    let needsOnlyStorage: Bool

    init(_ sentence: String, _ body: @escaping @Sendable (any ContractDatabase) async throws -> Void) {
        self.init(sentence, needsOnlyStorage: false, body)
    }

    private init(
        _ sentence: String, needsOnlyStorage: Bool,
        _ body: @escaping @Sendable (any ContractDatabase) async throws -> Void
    ) {
        self.sentence = sentence
        self.needsOnlyStorage = needsOnlyStorage
        self.body = body
    }

    /// Creates a case that needs only an open storage.
    init(open sentence: String, _ body: @escaping @Sendable (any Storage) async throws -> Void) {
        self.init(sentence, needsOnlyStorage: true) { database in
            let storage = try await database.open()
            do {
                try await body(storage)
            } catch {
                await storage.close()
                throw error
            }
            await storage.close()
        }
    }

    /// Runs the case on a database and leaves the database in its final state.
    func check(_ database: any ContractDatabase) async throws { try await body(database) }

    /// Runs the case on a database that has never been opened, and removes the database.
    package func run(on database: some ContractDatabase) async throws {
        do {
            try await check(database)
        } catch {
            await database.destroy()
            throw error
        }
        await database.destroy()
    }

    /// The sentence that describes the case.
    package var testDescription: String { sentence }

    /// All cases.
    package static let all =
        devices + details + keys + limits + guards + pepper + deliveries + receipts + queue + queueRepeats
        + unwritableLog + queueClaims + queueFairness + queueBuckets + queueDevices + clocks + revocation
        + blocks + histories + agents + pushTokens + schedules + scheduleClaims + scheduleBacklogs + replies
        + replyResults + outcomes
        + tenants + tallies + prunings + lifecycle + trials + migrations + installations + webPush
        + accessTokens
}

/// An empty database for a driver, and what the cases must be able to do to it without the driver's knowledge.
package protocol ContractDatabase: Sendable {
    /// Whether several storages may change the database at once; if not, the second one to open gets `inUse`.
    var allowsSeveralWriters: Bool { get }

    /// Opens the database as the program does, and brings its schema up to date.
    func open() async throws(StorageError) -> any Storage

    /// Opens the database like a command that must not change anything.
    func openReadOnly() async throws(StorageError) -> any Storage

    /// Opens the database with room for only about a hundred kilobytes; nil if the driver has no such limit.
    func openAlmostFull() async throws(StorageError) -> (any Storage)?

    /// Creates OpenCode's two tables as its relay would have created them, and fills them.
    func makeOpenCodeTables(devices: [Device], deliveries: [Delivery]) async throws

    /// Writes a schema version into a database that was opened before, as a newer program would.
    func setSchemaVersion(_ version: Int) async throws

    /// Runs statements that every driver's database understands.
    func run(_ statements: [String]) async throws

    /// The number of rows in a table.
    func count(of table: String) async throws -> Int

    /// Makes the delivery log refuse all new rows, or those of one session, with an error that isn't transient.
    func refuseLogRows(ofSession session: String?) async throws

    /// Removes the database.
    func destroy() async
}

extension StorageError: CustomTestStringConvertible {
    /// The database's own message, which a failing test prints and which says what the call waited for.
    package var testDescription: String { logDetail }
}
