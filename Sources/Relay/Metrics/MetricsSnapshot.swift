import APNs
import Programs
import Storage

/// The data for all metrics at one moment.
struct MetricsSnapshot: Sendable {
    /// All loops' counters and gauges.
    var loops = LoopReport()
    var pushesInFlightMax = 0
    var connections = 0
    var connectionsMax = 0
    var connectionsEvicted: UInt64 = 0
    var connectionMemoryBytes = 0
    var connectionMemoryBytesMax = 0
    /// The last device count; `nil` before the first one, and without `RELAY_DEVICES_MAX`.
    var devices: Int?
    var devicesMax: Int?
    var devicesExpired: UInt64 = 0
    var secretLocksRemoved: UInt64 = 0
    /// The numbers of expired rows that were removed.
    var rowsPruned: [ExpiringTable: UInt64] = [:]
    /// When the oldest remaining rows expired.
    var oldestExpired: [ExpiringTable: EpochMilliseconds] = [:]
    var queue = PushQueue.Figures()
    var queueMax = 0
    var queueBytesMax = 0
    var schedules = ScheduleQueue.Figures()
    var deliveryLog = DeliveryLog.Figures()
    /// `nil` without a history.
    var history: History.Figures?
    var replies = ReplyWaits.Figures()
    /// `nil` while tracing is off.
    var spans: Tracer.Figures?
    var logLinesDropped: UInt64 = 0
    var storage = StorageLoad()
    var readiness = Readiness()
    /// Every configured app in each of its environments.
    var apnsStandings: [APNsHealth.Standing] = []
    var process: ProcessFigures?
    /// When the certificate expires, in seconds since 1970; `nil` without one.
    var certificateExpiry: Int64?
    var version = Version.current
    /// The database's engine.
    var database = ""
    /// The time of the snapshot, in milliseconds since 1970.
    var time: EpochMilliseconds = 0
}

/// The counters and gauges of one loop, or of several together.
struct LoopReport: Sendable {
    var counts = LoopCounts()
    var pushesInFlight = 0
    var groups: [APNsGroup: ClientStatistics] = [:]
    /// For the console; not a metric.
    var tenants = RecentTenants()

    /// Adds another loop's counters and gauges.
    mutating func add(_ other: LoopReport) {
        counts.add(other.counts)
        pushesInFlight += other.pushesInFlight
        groups.merge(other.groups) { $0 + $1 }
        tenants.add(other.tenants)
    }
}

/// The connections to one APNs environment with one key.
struct APNsGroup: Hashable, Sendable {
    let environment: Environment
    let teamID: String
    let keyID: String

    /// The group for a key in an environment.
    init(_ destination: APNsHealth.Destination) {
        environment = destination.environment
        teamID = destination.key.teamID
        keyID = destination.key.keyID
    }

    /// The group's label values.
    var labels: [String] { [environment.rawValue, teamID, keyID] }
}

extension ClientStatistics {
    fileprivate static func + (left: ClientStatistics, right: ClientStatistics) -> ClientStatistics {
        var sum = left
        sum.openConnections += right.openConnections
        sum.connectingConnections += right.connectingConnections
        sum.retiringConnections += right.retiringConnections
        sum.pushesUnderWay += right.pushesUnderWay
        sum.pushesWaiting += right.pushesWaiting
        sum.connectionsOpened += right.connectionsOpened
        sum.connectionsFailed += right.connectionsFailed
        sum.connectionsReplaced.merge(right.connectionsReplaced) { $0 + $1 }
        sum.goAways.merge(right.goAways) { $0 + $1 }
        return sum
    }
}
