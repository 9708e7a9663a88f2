import APNs
import HTTPServer
import Network
import Storage

/// What all routes on all loops share.
struct Services: Sendable {
    let storage: any Storage
    let hasher: SecretHasher
    /// The fewest bytes of a secret that has no devices yet.
    let secretBytesMin: Int
    let limits: DeliveryLimits
    let rates: RateLimits
    let clock: WallClock
    /// For times that are compared within the process, whatever becomes of the clock.
    var monotonic: @Sendable () -> MonotonicTime = { .current }
    let log: Log
    let deliveryLog: DeliveryLog
    let queue: PushQueue
    let apnsHealth: APNsHealth
    /// How old the oldest due push may be while the relay is ready; zero is any age.
    var queueAgeMax: Duration = .seconds(300)
    /// Signs with APNs' key; what is wrong when it can't, in one word.
    let checkCredentials: @Sendable () -> String?
}

/// The bounds of registrations and events.
struct DeliveryLimits: Sendable {
    /// Devices under one secret.
    var devicesPerSecretMax = 50
    /// From the arrival of an event to its answer.
    var eventDeadline: Duration = .seconds(10)
    /// Pushes of one event in flight at once.
    var pushesPerEventMax = 500
    /// Pushes of one loop that may wait for an outcome.
    var pushesPerLoopMax = 10_000
    /// Pushes of one loop that may wait for a connection: an event with more devices than `pushesPerLoopMax` goes too.
    var waitingPushesPerLoopMax: Int { max(pushesPerLoopMax, pushesPerEventMax) }
    /// How much longer than `eventDeadline` an event's receipt is leased: for the storage calls around it, beyond how far
    /// clocks may differ.
    var claimLeaseMargin = Bounds.claimLeaseMargin(databaseTimeout: .seconds(5))
}

/// What the routes on one loop work with.
///
/// Confined to that loop.
final class LoopServices {
    let loop: EventLoop
    let shared: Services
    let senders: any PushSenders
    /// The apps that are pushed to; replaced as a whole with ``use(_:)``.
    private(set) var apps: Apps
    /// What requests are checked against.
    private(set) var rules: RequestRules
    var slots: PushSlots
    var generator = IDGenerator()
    private var lastID: UUIDv7?
    /// What is counted on this loop.
    var counts: LoopCounts
    /// Answers that could not be kept at once and are being tried to be kept.
    var receiptsRetried = 0
    /// What `/ready` found last, and when.
    var readiness: (at: MonotonicTime, found: Readiness)?

    /// The services of a loop; on that loop.
    init(loop: EventLoop, shared: Services, apps: Apps, senders: any PushSenders) {
        self.loop = loop
        self.shared = shared
        self.senders = senders
        self.apps = apps
        rules = RequestRules(apps, secretBytesMin: shared.secretBytesMin)
        slots = PushSlots(capacity: shared.limits.pushesPerLoopMax)
        counts = LoopCounts(apps)
    }

    /// Goes on with other apps; requests that are being handled see them too.
    func use(_ apps: Apps) {
        self.apps = apps
        rules = RequestRules(apps, secretBytesMin: shared.secretBytesMin)
        counts.use(apps)
    }

    /// A new identifier for a row or a push; those of a loop sort in the order in which they were made.
    ///
    /// - Parameter time: now, where the caller has asked the clock already.
    func makeID(at time: EpochMilliseconds? = nil) -> UUIDv7 {
        let id = UUIDv7(at: time ?? shared.clock.now, after: lastID, using: &generator)
        lastID = id
        return id
    }
}

/// What a request's log line tells beside route, status and duration; filled in on the way.
struct RequestTrace {
    private(set) var fields: [LogField] = []

    /// Adds a detail.
    mutating func add(_ field: LogField) { fields.append(field) }
}
