import HTTPServer
import JSON
import WebPush

/// `GET /v1/webpush/key`: the public key that pages subscribe with.
struct WebPushKeyRoute: AnsweringRoute {
    let services: LoopServices

    /// Returns the current key; clients compare it with their subscription's key.
    func answer(_ request: Request, _ trace: inout RequestTrace) async throws(APIError) -> Reply {
        guard let keys = services.shared.webPush else { throw APIError(.webPushOff) }
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("ok", true)
        writer.member("publicKey", keys.current.publicKeyText)
        writer.member("keyID", keys.current.keyID)
        writer.endObject()
        return Reply(body: writer.finish())
    }
}
