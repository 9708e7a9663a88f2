/// The routes, as logs name them.
enum RouteName: String, CaseIterable, Sendable {
    case health = "GET /health"
    case ready = "GET /ready"
    case register = "POST /v1/device/register"
    case unregister = "POST /v1/device/unregister"
    case list = "POST /v1/device/list"
    case event = "POST /v1/event"
    case notify = "POST /v1/notify"
    /// What no route answers: an unknown path or method, or a request that is no valid HTTP.
    case none = "-"

    /// The path.
    var path: String {
        String(rawValue.drop { $0 != "/" })
    }
}
