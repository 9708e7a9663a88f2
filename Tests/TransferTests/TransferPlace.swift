import Glibc
import Storage
import StorageContract
import StorageMySQL
import StoragePostgres
import Testing

@testable import StorageSQLite

/// The engines that a copy can read and write.
enum Engine: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case sqlite = "SQLite"
    case postgres = "Postgres"
    case mysql = "MySQL"
    case postgres18 = "PostgreSQL 18"
    case mysql97 = "MySQL 9.7"

    /// The database drivers.
    enum Driver { case sqlite, postgres, mysql }

    var testDescription: String { rawValue }

    var driver: Driver {
        switch self {
        case .sqlite: .sqlite
        case .postgres, .postgres18: .postgres
        case .mysql, .mysql97: .mysql
        }
    }

    /// Every pair of different drivers whose servers are available, and the copies to newer servers.
    static let directions: [(Engine, Engine)] = {
        let pairs: [(Engine, Engine)] = available.flatMap { from in
            available.filter { $0.driver != from.driver && $0.isNewest == from.isNewest }.map { (from, $0) }
        }
        let upgrades: [(Engine, Engine)] = [(.postgres, .postgres18), (.mysql, .mysql97)]
        return pairs + upgrades.filter { available.contains($0.0) && available.contains($0.1) }
    }()

    private var isNewest: Bool { self == .postgres18 || self == .mysql97 }

    /// The available engines: SQLite always, the others if the tests' scripts started them.
    static let available = allCases.filter { $0 == .sqlite || $0.administratorURL != nil }

    /// The requirement for a test that copies between all drivers.
    static let allThere: ConditionTrait = .enabled(
        if: available.count >= 3,
        "no PostgreSQL or no MariaDB: Tests/Support/databases run swift test runs these tests")

    /// The URL of an administrator's account on the tests' server.
    var administratorURL: String? {
        let name =
            switch self {
            case .sqlite: ""
            case .postgres: "RELAY_TEST_POSTGRES_URL"
            case .mysql: "RELAY_TEST_MYSQL_URL"
            case .postgres18: "RELAY_TEST_POSTGRES18_URL"
            case .mysql97: "RELAY_TEST_MYSQL97_URL"
            }
        return getenv(name).map { String(cString: $0) }
    }
}

/// A database on one of the engines, for one test.
struct TransferPlace: Sendable {
    let engine: Engine
    /// The database's file or name.
    private let name: String

    /// Creates an empty database.
    init(_ engine: Engine) throws {
        self.engine = engine
        let number = UInt64.random(in: .min ... .max)
        name = engine == .sqlite ? "/tmp/relay-transfer-\(number).db" : "relay_\(number)"
        try administer("CREATE DATABASE \(name)")
    }

    /// The database's URL, with the administrator's account.
    var url: String {
        get throws {
            guard engine != .sqlite else { return "sqlite:" + name }
            let url = try #require(engine.administratorURL)
            return try url[...#require(url.lastIndex(of: "/"))] + name
        }
    }

    /// Opens the database as a relay does, but with time for a machine that is busy with other tests.
    func open() async throws -> any Storage {
        var file = SQLiteOptions()
        file.writerLockTimeoutMilliseconds = 0
        return switch engine.driver {
        case .sqlite: try await SQLiteStorage.open(try SQLiteLocation(url: url), options: file)
        case .postgres: try await PostgresStorage.open(try PostgresLocation(url: url), options: .patient)
        case .mysql: try await MySQLStorage.open(try MySQLLocation(url: url), options: .patient)
        }
    }

    /// Inspects the database as `relay check` does.
    func inspect() async throws {
        let id = Samples.id()
        switch engine.driver {
        case .sqlite:
            _ = try await SQLiteStorage.inspection(
                at: try SQLiteLocation(url: url), id: id, now: Samples.time)
        case .postgres:
            _ = try await PostgresStorage.inspection(
                at: try PostgresLocation(url: url), options: .patient, id: id
            ) { Samples.time }
        case .mysql:
            _ = try await MySQLStorage.inspection(
                at: try MySQLLocation(url: url), options: .patient, id: id
            ) { Samples.time }
        }
    }

    /// The database as the source of a copy.
    func source() throws -> TransferSide {
        switch engine.driver {
        case .sqlite: try SQLiteTransfer.source(try SQLiteLocation(url: url))
        case .postgres: try ServerTransfer<PostgresConnection>.source(try PostgresLocation(url: url))
        case .mysql: try ServerTransfer<MySQLConnection>.source(try MySQLLocation(url: url))
        }
    }

    /// The database as the target of a copy, with its tables created.
    func target() throws -> TransferSide {
        switch engine.driver {
        case .sqlite: try SQLiteTransfer.target(try SQLiteLocation(url: url))
        case .postgres: try ServerTransfer<PostgresConnection>.target(try PostgresLocation(url: url))
        case .mysql: try ServerTransfer<MySQLConnection>.target(try MySQLLocation(url: url))
        }
    }

    /// The database of a file, changed without the lock, which no relay does.
    func openUnlocked() throws -> TransferSide {
        TransferSide(
            try SQLiteConnection(path: name, mode: .readWrite, busyTimeoutMilliseconds: 5_000))
    }

    /// Runs statements in a file.
    func run(_ statements: [String]) throws {
        Glibc.close(Glibc.open(name, O_CREAT | O_RDWR, S_IRUSR | S_IWUSR))
        let side = try openUnlocked()
        for statement in statements { try side.connection.run(statement) }
    }

    /// Removes the database.
    func remove() {
        guard engine == .sqlite else {
            try? administer("DROP DATABASE \(name)")
            return
        }
        for suffix in ["", "-wal", "-shm", "-writer"] { unlink(name + suffix) }
    }

    private func administer(_ statement: String) throws {
        switch engine.driver {
        case .sqlite: break
        case .postgres:
            let url = try #require(engine.administratorURL)
            let connection = try PostgresConnection.open(
                try PostgresLocation(url: url), options: .patient)
            connection.deadline = .now + .seconds(30)
            try connection.run(statement)
        case .mysql:
            let url = try #require(engine.administratorURL)
            let connection = try MySQLConnection.open(try MySQLLocation(url: url), options: .patient)
            connection.deadline = .now + .seconds(30)
            try connection.run(statement)
        }
    }
}

/// Runs a body with new databases on the given engines, and removes them.
func withPlaces(_ engines: [Engine], _ body: ([TransferPlace]) async throws -> Void) async throws {
    var places: [TransferPlace] = []
    let outcome: Result<Void, any Error>
    do {
        for engine in engines { places.append(try TransferPlace(engine)) }
        outcome = .success(try await body(places))
    } catch {
        outcome = .failure(error)
    }
    for place in places { place.remove() }
    try outcome.get()
}
