import HTTPServer
import Instruments
import Network
import Programs
import Storage

/// The relay's HTTP API on one loop: routes, error responses and request logging.
struct API: Sendable {
    private let services: LoopBound<LoopServices>
    private let page: Page?
    private let hasDoors: Bool

    /// Creates the API with a loop's services and, if it is served, the web page.
    ///
    /// - Parameter hasDoors: Whether requests in the formats of other services (ntfy, Gotify, Bark, Expo) are served.
    init(_ services: LoopBound<LoopServices>, page: Page?, hasDoors: Bool) {
        self.services = services
        self.page = page
        self.hasDoors = hasDoors
    }

    /// The service for the HTTP server.
    var service: Service {
        var router = Router()
        router.onSync(.get, RouteName.health.path) { request in health(request) }
        router.on(.get, RouteName.ready.path, open(.ready, ReadyRoute.self))
        router.on(.get, RouteName.webPushKey.path, open(.webPushKey, WebPushKeyRoute.self))
        router.on(.post, RouteName.register.path, tenant(.register, RegisterRoute.self))
        router.on(.post, RouteName.unregister.path, tenant(.unregister, UnregisterRoute.self))
        router.on(.post, RouteName.list.path, tenant(.list, ListRoute.self))
        router.on(
            .post, RouteName.activityRegister.path, tenant(.activityRegister, ActivityRegisterRoute.self))
        router.on(
            .post, RouteName.activityUnregister.path,
            tenant(.activityUnregister, ActivityUnregisterRoute.self))
        router.on(.post, RouteName.presence.path, tenant(.presence, PresenceRoute.self))
        router.on(.post, RouteName.event.path, tenant(.event, EventRoute.self))
        router.on(.post, RouteName.events.path, tenant(.events, EventsRoute.self))
        router.on(.post, RouteName.notify.path, tenant(.notify, NotifyRoute.self))
        router.on(.post, RouteName.historyList.path, tenant(.historyList, HistoryListRoute.self))
        router.on(.post, RouteName.historyRead.path, tenant(.historyRead, HistoryReadRoute.self))
        router.on(.post, RouteName.acknowledge.path, tenant(.acknowledge, AcknowledgeRoute.self))
        router.on(.post, RouteName.reply.path, tenant(.reply, ReplyRoute.self))
        router.on(.post, RouteName.replyWait.path, tenant(.replyWait, ReplyWaitRoute.self))
        router.on(.post, RouteName.replyResult.path, tenant(.replyResult, ReplyResultRoute.self))
        router.on(.post, RouteName.outcomes.path, tenant(.outcomes, OutcomesRoute.self))
        router.on(.post, RouteName.scheduleCreate.path, tenant(.scheduleCreate, ScheduleCreateRoute.self))
        router.on(.post, RouteName.scheduleList.path, tenant(.scheduleList, ScheduleListRoute.self))
        router.on(.post, RouteName.scheduleCancel.path, tenant(.scheduleCancel, ScheduleCancelRoute.self))
        router.on(.post, RouteName.tokenCreate.path, tenant(.tokenCreate, TokenCreateRoute.self))
        router.on(.post, RouteName.tokenList.path, tenant(.tokenList, TokenListRoute.self))
        router.on(.post, RouteName.tokenRevoke.path, tenant(.tokenRevoke, TokenRevokeRoute.self))
        router.on(
            .post, RouteName.openChamberRegister.path,
            open(.openChamberRegister, OpenChamberRegisterRoute.self))
        router.on(
            .post, RouteName.openChamberSend.path, open(.openChamberSend, OpenChamberSendRoute.self))
        router.on(.post, RouteName.mcp.path, open(.mcp, MCPRoute.self))
        router.on(.post, RouteName.mcp.path + "/", open(.mcp, MCPRoute.self))
        for (path, handler) in page?.handlers ?? [] {
            router.onSync(.get, path) { request in pageResponse(handler(request), to: request) }
        }
        if hasDoors {
            let doors: [RouteName: Handler] = [
                .ntfy: open(.ntfy, NtfyRoute.self), .gotify: open(.gotify, GotifyRoute.self),
                .bark: open(.bark, BarkRoute.self), .barkPath: open(.barkPath, BarkRoute.self),
                .doorProbe: open(.doorProbe, DoorProbeRoute.self),
                .expoSend: open(.expoSend, ExpoSendRoute.self),
                .expoReceipts: open(.expoReceipts, ExpoReceiptsRoute.self),
            ]
            router.pattern = { request in Doors.door(request.method, request.path).flatMap { doors[$0] } }
        }
        let methods = router.methods
        router.preflight = { request in preflight(request, methods) }
        return Service(
            router: router,
            refuse: { refusal, request in answer(refusal, request) },
            prepare: { request in
                request.id = RequestID.of(request, using: &services.value.generator)
            },
            finish: { request, response, _ in crossOrigin.mark(&response, for: request) })
    }

    private var crossOrigin: CrossOrigin { CrossOrigin(origins: services.value.shared.origins) }

    /// Answers a browser's preflight request for a page from another origin.
    private func preflight(_ request: Request, _ methods: [Method]) -> Response {
        let response = crossOrigin.preflight(request, methods)
        services.value.shared.log(
            .debug, "request",
            [.requestID(request.id), .route(.none), .status(204), .note("detail", "CORS preflight")])
        services.value.counts.request(.none, status: 204, took: nil)
        return response
    }

    /// The liveness check, which checks no dependencies.
    private func health(_ request: Request) -> Response {
        services.value.shared.log(.debug, "request", [.requestID(request.id), .route(.health), .status(200)])
        services.value.counts.request(.health, status: 200, took: 0)
        return Reply.ok.response(requestID: request.id)
    }

    /// Logs and returns the page's response; like a liveness check, the page involves no tenant.
    private func pageResponse(_ response: Response, to request: Request) -> Response {
        let status = response.status.rawValue
        services.value.shared.log(
            .debug, "request", [.requestID(request.id), .route(.page), .status(status)])
        services.value.counts.request(.page, status: status, took: 0)
        var response = response
        response.headers.append("X-Request-ID", request.id)
        return response
    }

    // MARK: Responses

    /// A handler for a route whose requests must pass tenant admission first.
    private func tenant(_ name: RouteName, _ route: (some TenantRoute).Type) -> Handler {
        handler(name, route)
    }

    /// A handler for a route that serves no tenant or admits tenants itself.
    private func open(_ name: RouteName, _ route: (some AnsweringRoute).Type) -> Handler {
        handler(name, route)
    }

    /// Runs a route, renders its error, and logs the response.
    private func handler(_ name: RouteName, _ route: (some AnsweringRoute).Type) -> Handler {
        { request, loop in
            let services = services.value
            let started = loop.now
            let route = route.init(services: services)
            var trace = RequestTrace()
            let parent = request.traceParent
            // Probes arrive every few seconds, so they aren't traced.
            let recorder = name == .ready ? nil : services.shared.tracer?.recorder(for: parent)
            let reply: Reply
            if let recorder {
                nonisolated(unsafe) let traced =  // why: confined to the loop that runs the task
                    TracedAnswer(route, self, services)
                await recorder.record(on: loop) { _ in await traced.answer(request) }
                (reply, trace) = (traced.reply, traced.trace)
            } else {
                reply = await self.reply(of: route, to: request, services, &trace)
            }
            let took = loop.now.since(started)
            services.counts.request(name, status: reply.status, took: took.clampedNanoseconds)
            var head: [LogField] = [
                .requestID(request.id), .route(name), .status(reply.status), .duration(took),
            ]
            if let place = recorder?.place ?? parent { head.append(.trace(place.trace)) }
            recorder?.finish(request, name, reply, trace)
            let status = max(reply.status, trace.worstStatus ?? 0)
            let level = trace.isRoutine && status < 400 ? LogLevel.debug : level(of: status, name)
            if let code = reply.code, code.isSummarised {
                services.shared.log.refused(
                    RefusalTally.Kind(route: name, code: code), level, head + trace.fields)
            } else {
                services.shared.log(level, "request", head + trace.fields)
            }
            return reply.response(requestID: request.id)
        }
    }

    /// A traced request's route, its response and the details of its log line.
    private final class TracedAnswer<Route: AnsweringRoute> {
        private let route: Route
        private let api: API
        private let services: LoopServices
        var reply = Reply(APIError(.internalError))
        var trace = RequestTrace()

        init(_ route: Route, _ api: API, _ services: LoopServices) {
            (self.route, self.api, self.services) = (route, api, services)
        }

        func answer(_ request: Request) async {
            var trace = RequestTrace()
            reply = await api.reply(of: route, to: request, services, &trace)
            self.trace = trace
        }
    }

    /// Runs a route and renders its error.
    private func reply(
        of route: some AnsweringRoute, to request: Request, _ services: LoopServices,
        _ trace: inout RequestTrace
    ) async -> Reply {
        do throws(APIError) {
            return try await route.answer(request, &trace)
        } catch {
            var error = error
            if error.code == .invalidBody, let coding = request.contentCoding,
                !type(of: route).decodes(coding)
            {
                error = APIError(contentCoding: coding)
            }
            trace.add(error)
            if let limit = error.limit { services.counts.hit(limit) }
            return route.reply(to: error)
        }
    }

    /// Renders a refusal that the server made before any route ran.
    private func answer(_ refusal: Refusal, _ request: Request?) -> Response {
        let services = services.value
        let id = request?.id ?? ""
        let requestID = id.isEmpty ? RequestID.make(using: &services.generator) : id
        var error = APIError(ErrorCode(refusal))
        // Tells a client written for a newer relay that this one is older.
        if error.code == .notFound { error.hint = "This relay has version \(Version.current)." }
        let reply = Reply(error)
        services.counts.request(.none, status: reply.status, took: nil)
        services.shared.log.refused(
            RefusalTally.Kind(route: .none, code: error.code), .info,
            [
                .requestID(requestID), .route(.none), .status(reply.status), .code(error.code),
                .note("detail", refusal.sentence),
            ])
        return reply.response(requestID: requestID)
    }

    /// Probes arrive every few seconds, so successful ones are logged only at debug level.
    private func level(of status: Int, _ name: RouteName) -> LogLevel {
        switch status {
        case ..<400: name == .ready ? .debug : .info
        case ..<500: .info
        case 500: .error
        default: .warning
        }
    }
}

extension SpanRecorder {
    /// Ends a request's span, adding the details of the request's log line.
    fileprivate func finish(_ request: Request, _ name: RouteName, _ reply: Reply, _ trace: RequestTrace) {
        let details: [LogField] = [
            .note("http.request.method", request.method.description), .note("http.route", name.path),
            .count("http.response.status_code", reply.status), .requestID(request.id),
        ]
        finish(name.rawValue, .server, details + trace.fields, isFailed: reply.status >= 500)
    }
}

extension RequestTrace {
    /// Adds an error's code and details.
    mutating func add(_ error: APIError) {
        add(.code(error.code))
        if let field = error.field { add(.field(field)) }
        if let detail = error.logDetail { add(.note("detail", detail)) }
    }
}

extension ErrorCode {
    /// The code for a refusal by the HTTP server itself.
    init(_ refusal: Refusal) {
        switch refusal {
        case .malformedRequestLine, .malformedTarget, .malformedHeader, .invalidHost, .invalidFraming,
            .malformedChunk:
            self = .invalidRequest
        case .notFound: self = .notFound
        case .methodNotAllowed: self = .methodNotAllowed
        case .headTimeout, .bodyTimeout: self = .requestTimeout
        case .bodyTooLarge: self = .bodyTooLarge
        case .requestLineTooLong: self = .uriTooLong
        case .unsupportedExpectation: self = .expectationFailed
        case .headersTooLarge: self = .headersTooLarge
        case .unsupportedTransferCoding, .tunnelNotSupported: self = .notImplemented
        case .tooManyConnections: self = .overloaded
        case .unsupportedVersion: self = .versionNotSupported
        }
    }
}
