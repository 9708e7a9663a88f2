import Storage
import StorageSQLite

/// The one place that knows which database drivers are built in.
enum OpenStorage {
    /// The engines with a driver in this program.
    static let drivers: [DatabaseEngine] = [.sqlite]

    /// What is wrong with a URL that the driver of its engine can't read; `nil` when nothing is.
    static func problem(with database: DatabaseURL) -> DatabaseURLError? {
        do throws(DatabaseURLError) {
            switch database.engine {
            case .sqlite: _ = try SQLiteLocation(url: database.text)
            case .postgres, .mysql: break
            }
            return nil
        } catch {
            return error
        }
    }

    /// Opens a database, brings its schema up to date, and says which steps that took.
    static func open(_ database: DatabaseURL) async throws(StorageError) -> (any Storage, [SchemaStep]) {
        switch database.engine {
        case .sqlite:
            let storage = try await SQLiteStorage.open(try sqliteLocation(database))
            return (storage, storage.appliedSteps)
        case .postgres, .mysql:
            throw .unavailable(logDetail: "no driver for \(database.engine.rawValue)")
        }
    }

    /// The steps that opening a database would apply, found out without changing it; also beside a relay that runs.
    static func pendingSteps(of database: DatabaseURL) async throws(StorageError) -> [SchemaStep] {
        switch database.engine {
        case .sqlite: try await SQLiteStorage.pendingSteps(at: try sqliteLocation(database))
        case .postgres, .mysql: throw .unavailable(logDetail: "no driver for \(database.engine.rawValue)")
        }
    }

    /// Where a database is, for a person: never a user or a password.
    static func description(of database: DatabaseURL) -> String {
        switch database.engine {
        case .sqlite:
            guard let location = try? SQLiteLocation(url: database.text) else {
                return database.engine.rawValue
            }
            return "\(database.engine.rawValue) \(location.path)"
        case .postgres, .mysql:
            return database.engine.rawValue
        }
    }

    private static func sqliteLocation(_ database: DatabaseURL) throws(StorageError) -> SQLiteLocation {
        do throws(DatabaseURLError) {
            return try SQLiteLocation(url: database.text)
        } catch {
            throw .unavailable(logDetail: error.description)
        }
    }
}
