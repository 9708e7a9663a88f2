import Network
import Storage
import WebClient

/// The relay that is running on a database, reached through its admin listener.
enum RunningRelay {
    /// Requests a database change and returns the response body, or why it failed.
    static func ask(
        _ path: AdminServer.Path, _ body: [UInt8], at place: ListenAddress, token: Secret?
    ) async -> Result<[UInt8], RunningRelayError> {
        var request = request(path, at: place, token: token, within: Bounds.relayChangeDeadline)
        request.body = body
        do throws(WebFailure) {
            let answer = try await WebClient.send(request)
            switch answer.status {
            case 200: return .success(answer.body)
            case 401: return .failure(RunningRelayError(reason: "it requires RELAY_ADMIN_TOKEN"))
            default: return .failure(RunningRelayError(reason: "it returned status \(answer.status)"))
            }
        } catch {
            return .failure(RunningRelayError(reason: error.description))
        }
    }
}

extension RunningRelay {
    /// A request to the admin listener.
    static func request(
        _ path: AdminServer.Path, at place: ListenAddress, token: Secret?, within timeout: Duration
    ) -> WebRequest {
        // On a Unix socket, any name that the listener accepts will do.
        let host = place.address?.description ?? "localhost"
        var request = WebRequest(url: "http://\(host)\(path.rawValue)", timeout: timeout)
        request.unixPath = place.unixPath
        request.isLocal = true
        request.bearerToken = token.map { String(decoding: $0.bytes, as: UTF8.self) }
        return request
    }
}

/// Why the running relay couldn't make the change.
struct RunningRelayError: Error, Equatable {
    let reason: String
}
