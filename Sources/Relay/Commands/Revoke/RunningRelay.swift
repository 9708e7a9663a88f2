import JSON
import Network
import Storage
import WebClient

/// The relay that runs on a database, asked through its admin listener.
enum RunningRelay {
    /// Asks it to revoke a secret and says what it removed, or why nothing came of it.
    static func revoke(
        _ secret: Secret, at address: SocketAddress, token: Secret?
    ) async -> Result<Holdings, RunningRelayFault> {
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("secret", String(decoding: secret.bytes, as: UTF8.self))
        writer.endObject()
        var request = WebRequest(
            url: "http://\(address)\(AdminServer.Path.revoke.rawValue)", timeout: Bounds.revokeDeadline)
        request.isLocal = true
        request.bearerToken = token.map { String(decoding: $0.bytes, as: UTF8.self) }
        request.body = writer.finish()
        do throws(WebFailure) {
            let answer = try await WebClient.send(request)
            guard answer.status == 200, let removed = Holdings(json: answer.body) else {
                let reason =
                    answer.status == 401
                    ? "it wants RELAY_ADMIN_TOKEN" : "it answers with status \(answer.status)"
                return .failure(RunningRelayFault(reason: reason))
            }
            return .success(removed)
        } catch {
            return .failure(RunningRelayFault(reason: error.description))
        }
    }
}

/// Why the relay that runs could not be asked.
struct RunningRelayFault: Error, Equatable {
    let reason: String
}
