import HTTPServer
import Network
import Storage

/// What all routes on all loops share.
struct Services: Sendable {
    let storage: any Storage
    let hasher: SecretHasher
    let rules: RequestRules
    let limits: DeliveryLimits
    let rates: RateLimits
    let push: PushSettings
    let clock: WallClock
    let log: Log
    let deliveryLog: DeliveryLog
    let apnsHealth: APNsHealth
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
}

/// What is the same in every push of the app.
struct PushSettings: Sendable {
    /// The payload's `sound`; `nil` leaves it out.
    var sound: String? = "default"
    /// How long APNs keeps a push; zero is one attempt.
    var timeToLive: Duration = .seconds(86_400)

    /// `apns-expiration` of a push that is made now: seconds since 1970; 0 is one attempt.
    func expiration(at now: EpochMilliseconds) -> UInt64 {
        timeToLive == .zero ? 0 : UInt64(max(0, now + timeToLive.inMilliseconds) / 1000)
    }
}

/// What the routes on one loop work with.
///
/// Confined to that loop.
final class LoopServices {
    let loop: EventLoop
    let shared: Services
    let senders: PushSenders
    var slots: PushSlots
    var generator = IDGenerator()
    /// The last answer of `/ready` and its time.
    var readiness: (at: MonotonicTime, reply: Reply)?

    /// The services of a loop; on that loop.
    init(loop: EventLoop, shared: Services, senders: PushSenders) {
        self.loop = loop
        self.shared = shared
        self.senders = senders
        slots = PushSlots(capacity: shared.limits.pushesPerLoopMax)
    }

    /// A new identifier for a row or a push.
    func makeID() -> UUIDv7 {
        UUIDv7(at: shared.clock.now, using: &generator)
    }
}

/// What a request's log line tells beside route, status and duration; filled in on the way.
struct RequestTrace {
    private(set) var fields: [LogField] = []

    /// Adds a detail.
    mutating func add(_ field: LogField) { fields.append(field) }
}
