import APNs
import HTTPServer
import Network
import Programs
import Storage

/// The services shared by all routes on all loops.
struct Services: Sendable {
    let storage: any Storage
    let hasher: SecretHasher
    /// Minimum length in bytes of a secret without devices.
    let secretBytesMin: Int
    let limits: DeliveryLimits
    let rates: RateLimits
    let blocked: BlockList
    let clock: WallClock
    /// The clock for times compared within the process, independent of the wall clock.
    var monotonic: @Sendable () -> MonotonicTime = { .current }
    let log: Log
    /// Traces requests and pushes; `nil` if tracing is off.
    var tracer: Tracer?
    let deliveryLog: DeliveryLog
    /// Keeps the history of sent items; `nil` without `RELAY_HISTORY_DAYS`.
    var history: History?
    let queue: PushQueue
    /// The scheduled sends.
    let schedules: ScheduleQueue
    let apnsHealth: APNsHealth
    /// Who may register devices.
    var registration: RegistrationPolicy = .open
    /// Enforces `RELAY_DEVICES_MAX`; `nil` without a limit.
    var deviceTotal: DeviceTotal?
    /// Detects devices that share an installation ID.
    let contested = ContestedInstallations()
    /// Removes devices that haven't registered for a long time.
    var deviceRetention: DeviceRetention?
    /// Counts the expired rows that are removed.
    let pruning = PruningFigures()
    /// The age of the oldest due push above which the relay isn't ready; zero for no limit.
    var queueAgeMax: Duration = .seconds(300)
    /// Signs with the APNs keys; returns the fault in one word if a key can't sign.
    let checkCredentials: @Sendable () -> String?
    /// Tracks whether the database can be written to.
    let writes: WriteWatch
    /// Compares the clock with the database server's.
    let databaseClock: DatabaseClock
    /// The latest result of `/ready`.
    let readiness = SharedAnswer<Readiness>()
    /// Stores when agents last used secrets.
    var agents: AgentUses?
    /// Stores replies to events.
    let replies: ReplyWaits
    /// Counts pushes to devices with a frequency limit.
    let frequency = FrequencyCounts()
    /// The names of devices' time zones that this system doesn't know.
    let unknownZones = UnknownZones()
    /// Counts the Live Activities that this process started on each device.
    let activityStarts = ActivityStarts()
    /// The states that Live Activities get with their next progress push.
    let deferredStates = DeferredStates<DeferredState>()
    /// The web pages that may use the relay.
    var origins = WebOrigins()
    /// The app whose users OpenChamber's servers notify; `nil` if they can't use this relay.
    var openChamberApp: Topic?
    /// Keys for Web Push; `nil` if the relay doesn't use Web Push.
    var webPush: WebPushKeys?
}

extension Services {
    /// The rules for requests to a relay with these apps.
    func rules(_ apps: Apps) -> RequestRules {
        RequestRules(
            apps, secretBytesMin: secretBytesMin, hasHistory: history != nil, webPush: webPush)
    }
}

/// Limits for registrations and events.
struct DeliveryLimits: Sendable {
    /// Maximum devices per secret.
    var devicesPerSecretMax = 50
    /// Maximum schedules per secret.
    var schedulesPerSecretMax = 100
    /// Time from an event's arrival to its response.
    var eventDeadline: Duration = .seconds(10)
    /// How much longer than `eventDeadline` a request waits for another request's response to the same event.
    var claimWaitMargin = Bounds.claimWaitMargin
    /// Maximum pushes in flight per event.
    var pushesPerEventMax = 500
    /// Maximum pushes in flight per loop.
    var pushesPerLoopMax = 10_000
    /// Maximum pushes per loop that are waiting for a connection; a single larger event is still allowed.
    var waitingPushesPerLoopMax: Int { max(pushesPerLoopMax, pushesPerEventMax) }
    /// The minimum time between two progress pushes to a Live Activity.
    var activityInterval: Duration = .seconds(15)
    /// How much longer than `eventDeadline` an event's receipt is leased: time for its storage calls and clock skew.
    var claimLeaseMargin = Bounds.claimLeaseMargin(databaseTimeout: .seconds(5))
    /// How old an outcome must be to be listed.
    var outcomeSettleTime = Bounds.outcomeSettleTime(databaseTimeout: .seconds(5))
}

/// The services of the routes on one loop.
///
/// Confined to that loop.
final class LoopServices {
    let loop: EventLoop
    let shared: Services
    let senders: any PushSenders
    /// Sends pushes by Web Push; `nil` if the relay doesn't use it.
    let webPushSender: (any WebPushSender)?
    /// The current apps; replaced as a whole by ``use(_:)``.
    private(set) var apps: Apps
    /// The rules that requests must satisfy.
    private(set) var rules: RequestRules
    var slots: PushSlots
    var generator = IDGenerator()
    private var lastID: UUIDv7?
    var counts: LoopCounts
    /// The tenants of this loop's latest requests.
    var tenants = RecentTenants()
    /// The uses of access tokens that this loop has stored.
    var tokenUses = AccessTokenUses()
    /// Responses that couldn't be stored yet and are being retried.
    var receiptsRetried = 0

    /// The services of a loop; call it on that loop.
    init(
        loop: EventLoop, shared: Services, apps: Apps, senders: any PushSenders,
        webPushSender: (any WebPushSender)? = nil
    ) {
        self.loop = loop
        self.shared = shared
        self.senders = senders
        self.webPushSender = webPushSender
        self.apps = apps
        rules = shared.rules(apps)
        slots = PushSlots(capacity: shared.limits.pushesPerLoopMax)
        counts = LoopCounts(apps, hasWebPush: webPushSender != nil)
    }

    /// Replaces the apps, even for requests in progress.
    func use(_ apps: Apps) {
        self.apps = apps
        rules = shared.rules(apps)
        counts.use(apps)
    }

    /// A device's time zone; an unknown name is logged, because quiet hours in it may not apply.
    func zone(_ name: String) -> TimeZoneRules? {
        if let rules = rules.timeZones.zone(name) { return rules }
        if shared.unknownZones.isWorthLogging(name, at: shared.monotonic()) {
            shared.log(
                .warning, "time_zone.unknown",
                [.note("time_zone", TimeZones.isName(name) ? name : "not a name")])
        }
        return nil
    }

    /// Rereads time zones from the system's files, which may have changed.
    func renewTimeZones() { rules.timeZones = TimeZones() }

    /// A new identifier for a row or a push; a loop's identifiers sort by creation time.
    ///
    /// - Parameter time: The current time, if the caller already knows it.
    func makeID(at time: EpochMilliseconds? = nil) -> UUIDv7 {
        let id = UUIDv7(at: time ?? shared.clock.now, after: lastID, using: &generator)
        lastID = id
        return id
    }
}
