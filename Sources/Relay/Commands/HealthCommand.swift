import WebClient

/// `relay health`: checks whether the relay on this machine serves, without an HTTP client.
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
                StandardError.message("\(place) does not serve: GET /health returned \(answer.status)")
            } catch {
                StandardError.message("\(place) does not serve: \(error)")
            }
            return .unhealthy
        }
    }
}
