import Storage

/// What the commands have in common that look into the database for a person.
enum Inspection {
    /// The same for one secret, which is asked for where it was not given.
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

    /// Opens the database to be read, lets `body` look into it and closes it; a storage error ends the command.
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
                StandardError.message("\(place): \(error.logDetail)")
                return .unavailable
            }
        }
    }
}
