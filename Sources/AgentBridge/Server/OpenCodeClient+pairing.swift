import JSON
import Network
import PushSealing
import WebClient

/// The addresses and pairing codes that servers of 2.x offer to phones.
extension OpenCodeClient {
    /// The addresses that the server reports, including its tunnel's; empty if it reports none.
    func addresses() async -> [WebAddress] {
        guard generation == .second, let info = try? await get("/api/info") else { return [] }
        return (info["urls"]?.array ?? []).compactMap { $0.string.flatMap { try? WebAddress($0) } }
    }

    /// A new code with which one phone can log in to the server once, within five minutes; `nil` if the server has no
    /// such codes.
    func pairingCode() async throws(ServerError) -> String? {
        guard generation == .second else { return nil }
        let answer = try await post("/api/pair", [], [])
        switch answer.status {
        case 200..<300: break
        case 401, 403: throw .unauthorized
        case 404, 405: return nil
        default: throw .status(answer.status)
        }
        // Previews answer with their web page.
        guard answer.isOfType("application/json") else { return nil }
        let body = try? JSON.parse(answer.body, maxBytes: Bounds.serverAnswerBytesMax)
        guard let code = body?["code"]?.string, Pairing.isCode(code) else { throw .answer("no pairing code") }
        return code
    }
}
