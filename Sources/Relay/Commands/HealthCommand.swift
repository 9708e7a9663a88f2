import Programs
import WebClient

/// `relay health`: checks whether the relay on this machine is serving requests; needs no HTTP client.
///
/// Meant for a container's health check.
enum HealthCommand {
    /// Sends one request and prints one line if it fails.
    static func run(_ configuration: HealthConfiguration) -> ExitStatus {
        CommandTask.run {
            var request = WebRequest(url: configuration.url("/health"), timeout: Bounds.healthDeadline)
            request.isLocal = true
            request.trust = .anyone
            let place = configuration.url("")
            do throws(WebFailure) {
                let answer = try await WebClient.send(request)
                guard answer.status != 200 else { return .success }
                StandardError.message("\(place) is not serving: GET /health returned \(answer.status)")
            } catch {
                StandardError.message("\(place) is not serving: \(error)")
            }
            return .failed
        }
    }
}

extension RelayCommand {
    static let health = RelayCommand(
        "health", "Request GET /health from the relay on this machine; exit 0 if it is serving, 1 if not.",
        about: """
            Requests GET /health from the relay on this machine. Exit status 0 if it is serving, 1 if not.
            It reads the settings of that relay: in a container health check, the container's environment.
            """,
        settings: .address
    ) { call throws(ConfigurationError) in
        HealthCommand.run(try HealthConfiguration(call.sources))
    }
}
