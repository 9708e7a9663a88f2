/// The routes, as named in logs.
enum RouteName: String, CaseIterable, Sendable {
    case health = "GET /health"
    case ready = "GET /ready"
    /// The web page with all its files.
    case page = "GET /app/"
    case webPushKey = "GET /v1/webpush/key"
    case register = "POST /v1/device/register"
    case unregister = "POST /v1/device/unregister"
    case list = "POST /v1/device/list"
    case activityRegister = "POST /v1/activity/register"
    case activityUnregister = "POST /v1/activity/unregister"
    case presence = "POST /v1/presence"
    case event = "POST /v1/event"
    case events = "POST /v1/events"
    case notify = "POST /v1/notify"
    case historyList = "POST /v1/history/list"
    case historyRead = "POST /v1/history/read"
    case acknowledge = "POST /v1/ack"
    case reply = "POST /v1/reply"
    case replyWait = "POST /v1/reply/wait"
    case replyResult = "POST /v1/reply/result"
    case outcomes = "POST /v1/outcomes"
    case scheduleCreate = "POST /v1/schedule/create"
    case scheduleList = "POST /v1/schedule/list"
    case scheduleCancel = "POST /v1/schedule/cancel"
    case tokenCreate = "POST /v1/token/create"
    case tokenList = "POST /v1/token/list"
    case tokenRevoke = "POST /v1/token/revoke"
    /// ntfy's publish route; also `PUT`, and `POST /` with JSON.
    case ntfy = "POST /<topic>"
    case gotify = "POST /message"
    case bark = "POST /push"
    /// Bark's push route with an access token in the path.
    case barkPath = "GET /<key>"
    /// The first request from senders made for other relays; also `GET /version`.
    case doorProbe = "GET /ping"
    case openChamberRegister = "POST /v1/push/register-token"
    case openChamberSend = "POST /v1/push/send"
    case expoSend = "POST /--/api/v2/push/send"
    case expoReceipts = "POST /--/api/v2/push/getReceipts"
    case mcp = "POST /mcp"
    /// No route matched: an unknown path or method, or an invalid request.
    case none = "-"

    /// The requests from senders made for other relays (``Doors``, ``OpenChamberRoute``).
    static let doors: [RouteName] = [
        .ntfy, .gotify, .bark, .barkPath, .doorProbe, .openChamberRegister, .openChamberSend,
        .expoSend, .expoReceipts,
    ]

    var path: String {
        String(rawValue.drop { $0 != "/" })
    }
}
