import Programs
import Storage

/// The common parts of the commands that read the database.
enum Inspection {
    /// Like `run`, but for one secret, which the user is asked for if it wasn't given.
    static func ofSecret(
        _ configuration: InspectionConfiguration,
        _ body: @escaping @Sendable (any Storage, SecretKey) async throws(StorageError) -> ExitStatus
    ) -> ExitStatus {
        let key: SecretKey
        do throws(ExitStatus) {
            key = configuration.hasher.key(of: try SecretInput.require(configuration.secret))
        } catch {
            return error
        }
        return run(configuration) { storage throws(StorageError) in try await body(storage, key) }
    }

    /// Opens the database for reading, runs `body` and closes it; a storage error ends the command.
    static func run(
        _ configuration: InspectionConfiguration,
        _ body: @escaping @Sendable (any Storage) async throws(StorageError) -> ExitStatus
    ) -> ExitStatus {
        CommandTask.run {
            do throws(StorageError) {
                let storage = try await OpenStorage.openReading(
                    configuration.database, options: configuration.options)
                do throws(StorageError) {
                    let status = try await body(storage)
                    await storage.close()
                    return status
                } catch {
                    await storage.close()
                    throw error
                }
            } catch {
                let place = OpenStorage.description(of: configuration.database)
                let advice = configuration.advice.map { ". " + $0 } ?? ""
                StandardError.message("\(place): \(error.logDetail)\(advice)")
                return .unavailable
            }
        }
    }
}
