import WebClient

/// `relay health`: asks the relay on this machine whether it serves, where no HTTP client is at hand.
///
/// A container's health check is run by it.
enum HealthCommand {
    /// Asks once and says what came of it, in one line when it is bad.
    static func run(_ configuration: HealthConfiguration) -> ExitStatus {
        CommandTask.run {
            var request = WebRequest(url: configuration.url("/health"), timeout: Bounds.healthDeadline)
            request.isLocal = true
            request.trust = .anyone
            let place = configuration.url("")
            do throws(WebFailure) {
                let answer = try await WebClient.send(request)
                guard answer.status != 200 else { return .success }
                StandardError.message("\(place) does not serve: GET /health is answered \(answer.status)")
            } catch {
                StandardError.message("\(place) does not serve: \(error)")
            }
            return .unhealthy
        }
    }
}
