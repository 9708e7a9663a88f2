import HTTPServer
import PageFiles
import Programs
import Storage

/// The operator's console: the page from clients/console at `/` of the admin listener, and the page's data as JSON.
///
/// The page itself contains no secrets and needs no token; the JSON needs `RELAY_ADMIN_TOKEN`, like the metrics.
struct Console: Sendable {
    /// The paths of the console's JSON.
    enum Path: String, CaseIterable {
        case overview = "/v1/admin/overview"
        case apps = "/v1/admin/apps"
        case settings = "/v1/admin/settings"
        case tenants = "/v1/admin/tenants"
        case tenant = "/v1/admin/tenant"
        case push = "/v1/admin/push"
        case queue = "/v1/admin/queue"
    }

    /// Who may use the console.
    let access: AdminGuard
    /// Collects the metrics, with or without the checks of `/ready`; `nil` if a loop doesn't respond.
    let snapshot: @Sendable (_ checksReadiness: Bool) async -> MetricsSnapshot?
    /// The apps as last loaded.
    let apps: @Sendable () -> Apps
    /// The ID of the Web Push key; `nil` if Web Push is off.
    let webPushKey: String?
    let settings: ConsoleSettings
    let storage: any Storage
    /// The counts of the last hour.
    let history = ConsoleHistory()

    /// Forbids content from other origins, inline code, and turning text into HTML.
    static let policy = PagePolicy(
        content:
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
            + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
        permissions: "camera=(), microphone=(), geolocation=()")

    /// Records the last hour until the task is cancelled.
    func run() async {
        await history.run { await snapshot(false) }
    }

    /// Adds the page and its JSON to the listener's routes.
    func add(to router: inout Router) {
        for file in PageFile.console() {
            let resource = PageResource(file, policy: Self.policy)
            for path in file.path == "index.html" ? ["/", "/index.html"] : ["/" + file.path] {
                router.onSync(.get, path) { request in
                    access.refusal(of: request, isOpen: true, changesData: false)?.response
                        ?? resource.response(to: request)
                }
            }
        }
        let answers: [(Path, @Sendable (Request) async -> Response)] = [
            (.overview, overview), (.apps, shownApps), (.settings, { _ in Self.response(settings.json) }),
            (.tenants, shownTenants), (.tenant, shownTenant), (.push, shownPush), (.queue, shownQueue),
        ]
        for (path, answer) in answers {
            router.on(.get, path.rawValue) { request, _ in
                if let refusal = access.refusal(of: request, isOpen: false, changesData: false) {
                    return refusal.response
                }
                return await answer(request)
            }
        }
    }

    @Sendable private func overview(_ request: Request) async -> Response {
        guard let snapshot = await snapshot(true) else { return .silentLoop }
        let after = request.queryValue("after").flatMap { Int($0) } ?? 0
        return Self.response(
            ConsoleOverview(snapshot: snapshot, samples: history.samples(after: after)).json)
    }

    @Sendable private func shownApps(_: Request) async -> Response {
        guard let snapshot = await snapshot(false) else { return .silentLoop }
        return Self.response(ConsoleApps(snapshot: snapshot, apps: apps(), webPushKey: webPushKey).json)
    }

    // MARK: Tenants, pushes and the queue

    private var names: ConsoleNames { ConsoleNames(showsWholeHashes: access.token != nil) }

    private var tenants: ConsoleTenants { ConsoleTenants(storage: storage, names: names) }

    @Sendable private func shownTenants(_ request: Request) async -> Response {
        await answer { snapshot throws(ConsoleError) in
            try await tenants.list(
                snapshot.loops.tenants, beginningWith: request.queryValue("secret"))
        }
    }

    @Sendable private func shownTenant(_ request: Request) async -> Response {
        await answer { _ throws(ConsoleError) in
            try await tenants.one(request.queryValue("secret") ?? "")
        }
    }

    @Sendable private func shownPush(_ request: Request) async -> Response {
        await answer { snapshot throws(ConsoleError) in
            let text = request.queryValue("id") ?? ""
            guard (1...StorageLimits.eventIDBytes).contains(text.utf8.count), !text.utf8.contains(0) else {
                throw ConsoleError(400, "Give an eventID, an apns-id or the end of a device's token.")
            }
            let hashes: [SecretHash]
            if let digits = request.queryValue("secret") {
                hashes = [try await tenants.only(digits)]
            } else {
                let recent = snapshot.loops.tenants.newestFirst.map(\.hash)
                hashes = Array(recent.prefix(Bounds.consoleTenantsSearchedMax))
            }
            let trace = ConsoleTrace(storage: storage, names: names, now: snapshot.time)
            do throws(StorageError) {
                return try await trace.search(text, in: hashes)
            } catch {
                throw ConsoleError(error)
            }
        }
    }

    @Sendable private func shownQueue(_ request: Request) async -> Response {
        await answer { snapshot throws(ConsoleError) in
            do throws(StorageError) {
                return try await ConsoleQueue(storage: storage, names: names, snapshot: snapshot).page(
                    after: request.queryValue("after").flatMap { WaitingCursor($0) },
                    schedulesAfter: request.queryValue("schedulesAfter").flatMap { ScheduleCursor($0) })
            } catch {
                throw ConsoleError(error)
            }
        }
    }

    private func answer(
        _ body: (MetricsSnapshot) async throws(ConsoleError) -> [UInt8]
    ) async -> Response {
        guard let snapshot = await snapshot(false) else { return .silentLoop }
        do throws(ConsoleError) {
            return Self.response(try await body(snapshot))
        } catch {
            return error.response
        }
    }

    private static func response(_ body: [UInt8]) -> Response {
        var response = Reply(body: body).response(requestID: nil)
        response.headers.append("Cache-Control", "no-store")
        return response
    }
}

extension Response {
    /// The error if a loop doesn't respond: without its counts, sums would decrease.
    static let silentLoop = Response(
        status: .serviceUnavailable, contentType: "text/plain; charset=utf-8",
        body: Array("an event loop does not respond\n".utf8))
}
