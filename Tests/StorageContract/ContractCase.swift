package import Storage
import Testing

/// One thing that every storage driver must do, with the code that finds out whether it does.
///
/// A driver's tests run all of them, each on a database of its own or, with a ``DatabaseShelf``, on an emptied one:
///
///     @Test("SQLite keeps the contract", arguments: ContractCase.all)
///     func contract(_ contract: ContractCase) async throws { try await contract.run(on: SQLiteDatabase()) }
package struct ContractCase: Sendable, CustomTestStringConvertible {
    private let sentence: String
    private let body: @Sendable (any ContractDatabase) async throws -> Void
    /// Whether it does nothing but open the database as the program does and call the storage.
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

    /// A case that needs nothing but an open storage.
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

    /// Runs the case and leaves the database as it is then.
    func check(_ database: any ContractDatabase) async throws { try await body(database) }

    /// Runs the case on a database that has never been opened, and removes it.
    package func run(on database: some ContractDatabase) async throws {
        do {
            try await check(database)
        } catch {
            await database.destroy()
            throw error
        }
        await database.destroy()
    }

    /// The sentence that names the case.
    package var testDescription: String { sentence }

    /// Every case there is.
    package static let all =
        devices + details + keys + limits + guards + pepper + deliveries + receipts + queue + queueRepeats
        + unwritableLog + queueClaims + queueFairness + queueBuckets + queueDevices + clocks + revocation
        + blocks + histories + agents + pushTokens + schedules + scheduleClaims + scheduleBacklogs + replies
        + replyResults + outcomes
        + tenants + tallies + prunings + lifecycle + trials + migrations + installations + webPush
        + accessTokens
}

/// One empty database of a driver, and what the cases must be able to do to it behind the driver's back.
package protocol ContractDatabase: Sendable {
    /// Whether several storages may change the database at once; if not, the second one to open gets `inUse`.
    var allowsSeveralWriters: Bool { get }

    /// Opens it as the program does, bringing its schema up to date.
    func open() async throws(StorageError) -> any Storage

    /// Opens it as a command does that must not change anything.
    func openReadOnly() async throws(StorageError) -> any Storage

    /// Opens it so that it has room for no more than about a hundred kilobytes; nil where the driver can't be told.
    func openAlmostFull() async throws(StorageError) -> (any Storage)?

    /// Makes OpenCode's two tables as its relay would have and fills them.
    func makeOpenCodeTables(devices: [Device], deliveries: [Delivery]) async throws

    /// Writes a schema version into a database that was opened before, as a newer program would.
    func setSchemaVersion(_ version: Int) async throws

    /// Runs statements that every driver's database understands.
    func run(_ statements: [String]) async throws

    /// How many rows a table has.
    func count(of table: String) async throws -> Int

    /// Has the delivery log refuse every new row, or those of one session, as a database does for a lasting reason.
    func refuseLogRows(ofSession session: String?) async throws

    /// Removes the database.
    func destroy() async
}

extension StorageError: CustomTestStringConvertible {
    /// A failing test shows the database's own message, which says what it waited for.
    package var testDescription: String { logDetail }
}
