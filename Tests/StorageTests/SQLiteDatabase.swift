import Glibc
import Storage
import StorageContract

@testable import StorageSQLite

/// A SQLite database for the contract: a file in a new directory below /tmp.
struct SQLiteDatabase: ContractDatabase {
    let directory: String
    var path: String { directory + "/relay.db" }
    var location: SQLiteLocation { SQLiteLocation(path: path) }

    let allowsSeveralWriters = false

    /// Whether a new file was created by OpenCode's relay, whose tables have a different layout.
    let isAdopted: Bool

    init(adopted: Bool = false) throws {
        isAdopted = adopted
        var template = Array("/tmp/relay-storage-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SetupError(what: "mkdtemp", code: errno) }
        directory = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Options with which a second writer is refused quickly.
    ///
    /// Not immediately: between fork and exec, a process started by another test holds every lock of this one.
    static var impatient: SQLiteOptions {
        var options = SQLiteOptions()
        options.writerLockTimeoutMilliseconds = 100
        return options
    }

    func open() async throws(StorageError) -> any Storage {
        try await open(Self.impatient)
    }

    func open(_ options: SQLiteOptions) async throws(StorageError) -> SQLiteStorage {
        if isAdopted, access(path, F_OK) != 0 { try makeOpenCodeTables() }
        return try await SQLiteStorage.open(location, options: options)
    }

    func openReadOnly() async throws(StorageError) -> any Storage {
        var options = SQLiteOptions()
        options.access = .readOnly
        return try await open(options)
    }

    func openAlmostFull() async throws(StorageError) -> (any Storage)? {
        var options = Self.impatient
        options.databasePagesMax = 88
        return try await open(options)
    }

    func makeOpenCodeTables(devices: [Device], deliveries: [Delivery]) async throws {
        try makeOpenCodeTables()
        let connection = try raw()
        let insertDevice = try connection.prepare(
            "INSERT INTO device_registration VALUES (?, ?, ?, ?, ?, ?, ?)")
        for device in devices {
            try insertDevice.execute {
                $0.text(device.id)
                $0.hash(device.secretHash)
                $0.text(device.token)
                $0.text(device.bundleID)
                $0.text(device.environment.rawValue)
                $0.integer(device.createdAt)
                $0.integer(device.updatedAt)
            }
        }
        let insertDelivery = try connection.prepare("INSERT INTO delivery_log VALUES (?, ?, ?, ?, ?, ?, ?)")
        for delivery in deliveries {
            try insertDelivery.execute {
                $0.text(delivery.id)
                $0.hash(delivery.secretHash)
                $0.text(delivery.eventType)
                $0.text(delivery.sessionID)
                $0.text(delivery.status.rawValue)
                $0.text(delivery.error)
                $0.integer(delivery.createdAt)
            }
        }
    }

    func setSchemaVersion(_ version: Int) async throws {
        try raw().execute("INSERT INTO relay_schema VALUES (\(version), 'from the future')")
    }

    func run(_ statements: [String]) async throws {
        let connection = try raw()
        for statement in statements { try connection.execute(statement) }
    }

    func count(of table: String) async throws -> Int {
        Int(try raw().integer("SELECT count(*) FROM \(table)") ?? -1)
    }

    func refuseLogRows(ofSession session: String?) async throws {
        let condition = session.map { "WHEN NEW.session_id = '\($0)'" } ?? ""
        try raw().execute(
            """
            CREATE TRIGGER refuse BEFORE INSERT ON delivery_log \(condition)
            BEGIN SELECT RAISE(FAIL, 'refused'); END
            """)
    }

    func destroy() async {
        for name in ["relay.db", "relay.db-wal", "relay.db-shm", "relay.db-journal", "relay.db-writer"] {
            unlink(directory + "/" + name)
        }
        rmdir(directory)
    }

    private func makeOpenCodeTables() throws(StorageError) {
        let connection = try raw()
        for statement in OpenCodeTables.statements { try connection.execute(statement) }
    }

    /// A direct connection, for what the driver itself would never do; creates the file if necessary.
    func raw() throws(StorageError) -> SQLiteConnection {
        let path = try DatabaseFile.create(path)
        return try SQLiteConnection(path: path, mode: .readWrite, busyTimeoutMilliseconds: 5_000)
    }
}

/// Why a test could not be set up.
struct SetupError: Error {
    let what: String
    let code: Int32
}
