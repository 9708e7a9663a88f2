import APNs
import HTTPServer
import JSON
import Network
import Programs
import Storage

@testable import Relay

/// A console with the given metrics and rows.
enum ConsoleFixture {
    static let hostile = "<b>\u{202e}\"\\\u{0}\n</script>"

    /// The router of a console with the given metrics.
    static func router(
        _ snapshot: MetricsSnapshot?, hosts: Set<String> = [], token: String? = nil,
        settings: [SettingInForce] = [], history: [MetricsSnapshot] = [],
        storage: any Storage = FakeStorage()
    ) -> Router {
        let apps = Apps(single: PushApp(key: TestKey.first), defaultBundleID: Topic("com.example.app"))
        let console = Console(
            access: AdminGuard(hosts: hosts, token: token.map { Secret($0) }), snapshot: { _ in snapshot },
            apps: { apps }, webPushKey: hostile,
            settings: ConsoleSettings(settings: settings, database: "sqlite: relay.db"),
            storage: storage)
        for snapshot in history { console.history.record(snapshot) }
        var router = Router()
        console.add(to: &router)
        return router
    }

    static func answer(
        _ target: String, _ headers: [(String, String)] = [], of router: Router
    ) async throws -> Response {
        let request = Request(target: target, headers: headers)
        switch router.route(request) {
        case .sync(let handler): return handler(request)
        case .async(let handler):
            let loop = EventLoop(label: "console")
            let response = await handler(request, loop)
            await loop.stop()
            return response
        case .refuse: return Response(status: .notFound)
        }
    }

    static func json(_ response: Response) throws -> JSON.Value {
        try JSON.parse(response.body, maxBytes: 1 << 20)
    }
}
