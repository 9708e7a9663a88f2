import Network
import Programs
import Storage

/// A database change that a command makes itself, or requests from a running relay that holds the file.
struct DatabaseChange<Output: Sendable>: Sendable {
    let configuration: InspectionConfiguration
    /// The request path on the running relay.
    let path: AdminServer.Path
    let body: [UInt8]
    /// Parses the relay's response; `nil` if it is invalid.
    let read: @Sendable ([UInt8]) -> Output?
    /// Makes the change directly.
    let make: @Sendable (any Storage) async throws(StorageError) -> Output

    /// Makes the change; prints an error before throwing.
    func run() async throws(ExitStatus) -> Output {
        do throws(StorageError) {
            let storage = try await OpenStorage.openWriting(
                configuration.database, options: configuration.options)
            do throws(StorageError) {
                let output = try await make(storage)
                await storage.close()
                return output
            } catch {
                await storage.close()
                throw error
            }
        } catch {
            if case .inUse = error { return try await askRunningRelay() }
            let place = OpenStorage.description(of: configuration.database)
            StandardError.message("\(place): \(error.logDetail)")
            throw .unavailable
        }
    }

    /// Requests the change from the relay that is running on the file, because no other process may write to it.
    private func askRunningRelay() async throws(ExitStatus) -> Output {
        let place = OpenStorage.description(of: configuration.database)
        let advice = "run this command on that relay's machine with its RELAY_ADMIN_LISTEN, or stop it first"
        guard !configuration.admin.isOff else {
            StandardError.message(
                "a relay is running on \(place) and RELAY_ADMIN_LISTEN is off, so this command can't reach it: \(advice)"
            )
            throw .unavailable
        }
        let answer = await RunningRelay.ask(
            path, body, at: configuration.admin, token: configuration.adminToken)
        switch answer.flatMap({ bytes in
            read(bytes).map { .success($0) } ?? .failure(RunningRelayError(reason: "its response is invalid"))
        }) {
        case .success(let output):
            return output
        case .failure(let fault):
            StandardError.message(
                "a relay is running on \(place) and its admin listener, expected at \(configuration.admin.text), can't make the change: "
                    + "\(fault.reason); \(advice)")
            throw .unavailable
        }
    }
}
