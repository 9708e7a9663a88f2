import APNs
import HTTPServer
import JSON
import Network
import Programs
import Storage

@testable import Relay

/// The routes on their own loop, with in-memory storage and scripted senders.
struct RelayFixture: Sendable {
    static let secret = "0123456789abcdef"
    static let key = SecretHasher().key(of: Secret(secret))

    let loop: EventLoop
    let storage: FakeStorage
    let lines: LogLines
    let services: LoopBound<LoopServices>
    let production: LoopBound<ScriptedSender>
    let sandbox: LoopBound<ScriptedSender>
    let webPush: LoopBound<ScriptedWebPush>
    let api: API
    /// The wall clock; changing only this simulates setting the clock.
    let time: Lock<EpochMilliseconds>
    private let monotonic: Lock<MonotonicTime>
    let history: History?
    let agents: AgentUses
    let replies: ReplyWaits
    private let remembering: Task<Void, Never>
    private let noting: Task<Void, Never>
    private let replyReading: Task<Void, Never>

    /// The options in which fixtures differ.
    struct Options: Sendable {
        var rules = RequestRules(defaultBundleID: Topic("org.example.default"))
        /// The limits, with an event deadline that a slow machine doesn't reach; tests of the deadline set a shorter one.
        var limits: DeliveryLimits = {
            var limits = DeliveryLimits()
            limits.eventDeadline = .seconds(60)
            return limits
        }()
        var rates = RateLimitConfiguration()
        var hasher = SecretHasher()
        var push = PushSettings()
        /// The apps; nil for the default of a single app.
        var apps: Apps?
        var queue = PushQueue.Options()
        /// The storage, possibly shared with another relay; nil for a new one.
        var storage: FakeStorage?
        var credentialsFault: String?
        var queueAgeMax: Duration = .seconds(300)
        var registration = RegistrationPolicy.open
        /// `RELAY_DEVICES_MAX`.
        var devicesMax = 0
        var logLevel = LogLevel.debug
        /// The history's options; nil without a history.
        var history: History.Options?
        var replies = ReplyWaits.Options()
        var deliveries = DeliveryLog.Options()
        var page: Page?
        var hasDoors = true
        /// The app that OpenChamber's servers can ring; nil for none.
        var openChamberApp: Topic?
        /// The Web Push keys; nil if Web Push is off.
        var webPush: WebPushKeys?
        /// The tracing options; nil if requests aren't traced.
        ///
        /// Nothing is exported.
        var traces: Tracer.Options?
    }

    /// Creates the routes, runs `body` with them and shuts them down.
    static func with<Result: Sendable>(
        _ options: Options = Options(), _ body: (RelayFixture) async throws -> Result
    ) async throws -> Result {
        let fixture = await RelayFixture(options)
        do {
            let result = try await body(fixture)
            await fixture.end()
            return result
        } catch {
            await fixture.end()
            throw error
        }
    }

    private init(_ options: Options) async {
        let loop = EventLoop(label: "test")
        let storage = options.storage ?? FakeStorage()
        let lines = LogLines(level: options.logLevel)
        let time = Lock<EpochMilliseconds>(1_800_000_000_000)
        let monotonic = Lock(MonotonicTime(nanoseconds: 1_000_000_000_000))
        let credentialsFault = options.credentialsFault
        let apps =
            options.apps
            ?? Apps(
                single: PushApp(key: TestKey.first, push: options.push),
                defaultBundleID: options.rules.defaultBundleID, bundleIDs: options.rules.bundleIDs)
        let deliveryLog = DeliveryLog(storage: storage, log: lines.log, options: options.deliveries)
        let history = options.history.map { History(storage: storage, log: lines.log, options: $0) }
        let agents = AgentUses(storage: storage, log: lines.log)
        let replies = ReplyWaits(
            storage: storage, clock: WallClock { time.withLock { $0 } }, options: options.replies)
        let shared = Services(
            storage: storage, hasher: options.hasher, secretBytesMin: options.rules.secretBytesMin,
            limits: options.limits, rates: RateLimits(options.rates),
            blocked: BlockList(storage: storage, log: lines.log),
            clock: WallClock { time.withLock { $0 } }, monotonic: { monotonic.withLock { $0 } },
            log: lines.log,
            tracer: options.traces.map { Tracer($0, log: lines.log) },
            deliveryLog: deliveryLog,
            history: history,
            queue: PushQueue(
                storage: storage, deliveryLog: deliveryLog, log: lines.log, options: options.queue),
            schedules: ScheduleQueue(storage: storage),
            apnsHealth: APNsHealth(apps),
            registration: options.registration,
            deviceTotal: DeviceTotal(
                max: options.devicesMax, storage: storage, monotonic: { monotonic.withLock { $0 } }),
            queueAgeMax: options.queueAgeMax,
            checkCredentials: { credentialsFault },
            writes: WriteWatch(
                storage: storage, clock: WallClock { time.withLock { $0 } },
                monotonic: { monotonic.withLock { $0 } }, log: lines.log),
            databaseClock: DatabaseClock(
                storage: storage, clock: WallClock { time.withLock { $0 } }, log: lines.log),
            agents: agents, replies: replies, openChamberApp: options.openChamberApp, webPush: options.webPush
        )
        let isWebPushOn = options.webPush != nil
        let (production, sandbox, webPush, services) = await loop.run { loop in
            let production = ScriptedSender()
            let sandbox = ScriptedSender()
            let senders = ScriptedSenders(production: production, sandbox: sandbox)
            let webPush = ScriptedWebPush()
            let services = LoopServices(
                loop: loop, shared: shared, apps: apps, senders: senders,
                webPushSender: isWebPushOn ? webPush : nil)
            return (
                LoopBound(production, on: loop), LoopBound(sandbox, on: loop), LoopBound(webPush, on: loop),
                LoopBound(services, on: loop)
            )
        }
        self.history = history
        self.agents = agents
        self.replies = replies
        remembering = Task { await history?.run() }
        noting = Task { await agents.run() }
        replyReading = Task { await replies.run() }
        self.loop = loop
        self.storage = storage
        self.lines = lines
        self.time = time
        self.monotonic = monotonic
        self.production = production
        self.sandbox = sandbox
        self.webPush = webPush
        self.services = services
        api = API(services, page: options.page, hasDoors: options.hasDoors)
    }

    private func end() async {
        history?.finish()
        agents.finish()
        replies.finish()
        replyReading.cancel()
        await remembering.value
        await noting.value
        await replyReading.value
        await lines.log.close()
        await loop.stop()
    }

    /// Advances both clocks.
    func pass(_ duration: Duration) {
        time.withLock { $0 += duration.inMilliseconds }
        monotonic.withLock { $0 = $0 + duration }
    }

    /// Processes a request as the server would.
    func answer(_ request: Request) async -> Response {
        await loop.run { loop in
            var request = request
            let service = api.service
            service.prepare?(&request)
            var response: Response
            switch service.router.route(request) {
            case .sync(let handler): response = handler(request)
            case .async(let handler): response = await handler(request, loop)
            case .refuse(let refusal): response = service.refuse(refusal, request)
            }
            service.finish?(request, &response, .zero)
            return response
        }
    }

    /// Posts a JSON object.
    func post(_ path: String, _ body: JSON.Value) async -> Response {
        await answer(Request(method: .post, target: path, body: body.encoded()))
    }

    /// Posts an event under the fixture's secret, with additional members.
    func event(_ members: JSON.Value = [:]) async -> Response {
        var object: JSON.Object = .init()
        object["secret"] = .string(Self.secret)
        object["eventType"] = "complete"
        object["sessionID"] = "ses_1"
        for member in members.object?.members ?? [] { object[member.name] = member.value }
        return await post("/v1/event", .object(object))
    }

    /// The state that is confined to the loop.
    struct Confined {
        let services: LoopServices
        let production: ScriptedSender
        let sandbox: ScriptedSender
        let webPush: ScriptedWebPush
    }

    /// Reads state that is confined to the loop.
    func onLoop<Result: Sendable>(_ look: @Sendable (Confined) -> Result) async -> Result {
        await loop.run { _ in
            look(
                Confined(
                    services: services.value, production: production.value, sandbox: sandbox.value,
                    webPush: webPush.value))
        }
    }

    /// Waits, turn by turn of the loop, until a condition holds; gives up as ``eventually(_:)`` does.
    func until(_ condition: @Sendable (Confined) -> Bool) async -> Bool {
        await eventually { await onLoop(condition) }
    }
}

extension Response {
    /// The body as JSON; `null` if it isn't JSON.
    var json: JSON.Value { (try? JSON.parse(body, maxBytes: 1_000_000)) ?? nil }
}

/// A log whose lines can be read.
final class LogLines: Sendable {
    private let bytes: Lock<[UInt8]>
    let log: Log

    /// Creates a log of JSON lines.
    init(level: LogLevel = .debug, refusalInterval: Duration = Bounds.refusalSummaryInterval) {
        let bytes = Lock<[UInt8]>([])
        self.bytes = bytes
        log = Log(
            level: level, formatter: LogFormatter(format: .json), clock: WallClock { 0 },
            refusalInterval: refusalInterval
        ) { written in
            bytes.withLock { $0 += written }
        }
    }

    /// The number of lines with this event so far.
    func count(of event: String) -> Int {
        text.split(separator: "\n").count { $0.contains("\"event\":\"\(event)\"") }
    }

    /// The text written so far; it is complete only after the log was closed.
    var text: String { String(decoding: bytes.withLock { $0 }, as: UTF8.self) }

    /// Closes the log and returns its lines as JSON.
    func closed() async throws -> [JSON.Value] {
        await log.close()
        return try text.split(separator: "\n").map { try JSON.parse(Array($0.utf8), maxBytes: 100_000) }
    }
}

extension RelayFixture {
    /// The queue of the fixture's services.
    var queue: PushQueue {
        get async { await onLoop { $0.services.shared.queue } }
    }

    /// Writes the ends so far; nothing can be ended afterwards.
    func writeEnds() async {
        let queue = await queue
        queue.finish()
        await queue.run()
    }

    /// Writes the log rows so far; nothing can be logged afterwards.
    func writeLog() async {
        let log = await onLoop { $0.services.shared.deliveryLog }
        log.finish()
        await log.run()
    }

    /// The rows of the queue.
    var pending: [FakeStorage.Pending] { storage.state.withLock(\.pending) }
}
