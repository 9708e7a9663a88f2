import APNs
import Instruments
import Storage
import WebPush

/// The counters of one event loop since startup; summed over all loops on request.
///
/// Plain numbers in arrays: counting a push needs no lock, no allocation and no string.
struct LoopCounts: Sendable {
    /// App numbers used in this loop's counters.
    private(set) var apps = AppLabels()
    /// Responses, by route and status.
    private(set) var requests = [UInt64](repeating: 0, count: routes.count * statuses.count)
    /// Response times, by route.
    private(set) var requestDurations = [DurationHistogram](
        repeating: DurationHistogram(), count: routes.count)
    /// Outcomes of attempts, by app, environment and outcome.
    private(set) var attempts: [UInt64] = []
    /// Attempt durations, by environment.
    private(set) var attemptDurations = [DurationHistogram](
        repeating: DurationHistogram(), count: environments.count)
    /// Durations of attempts by Web Push.
    private(set) var webPushDurations = DurationHistogram()
    /// Results of events' pushes, by app, environment and result.
    private(set) var results: [UInt64] = []
    /// Results of pushes to Live Activities, by event and result.
    private(set) var activities = [UInt64](
        repeating: 0, count: ActivityEvent.allCases.count * activityResults.count)
    /// Refusals, by ``LimitKind``.
    private(set) var limits = [UInt64](repeating: 0, count: LimitKind.allCases.count)
    /// Retries of stored pushes.
    var retries: UInt64 = 0
    /// Registrations removed because a push service reported them as invalid, by app and environment.
    private(set) var removed: [UInt64] = []
    /// Installations found to be shared by two devices.
    var contested: UInt64 = 0
    /// Registrations moved to the other environment.
    var environmentsHealed: UInt64 = 0

    /// The results of a push to a Live Activity.
    static let activityResults = ["sent", "failed", "queued"]
    static let routes = RouteName.allCases
    static let environments = Environment.allCases
    /// Every status that a response can have.
    static let statuses = Set(ErrorCode.allCases.map(\.status) + [200, 202, 304, 308, 415]).sorted()
    private static let routeNumbers = Dictionary(
        uniqueKeysWithValues: routes.enumerated().map { ($1, $0) })
    private static let statusNumbers = Dictionary(
        uniqueKeysWithValues: statuses.enumerated().map { ($1, $0) })
    static let reasonCount = KnownReasons.words.count
    /// The number of distinct outcomes: `accepted`, and rejected and unreachable for each reason.
    static let outcomeCount = 1 + 2 * reasonCount
    /// The number of distinct results: `sent`, `muted`, and failed and queued for each reason.
    static let resultCount = 2 + 2 * reasonCount

    /// Creates counters for these apps, all zero.
    init(_ apps: Apps? = nil, hasWebPush: Bool = false) {
        if hasWebPush { self.apps.add(WebPushDevice.bundleID) }
        if let apps { use(apps) } else { makeRoom() }
    }

    /// Adds new apps, which are counted under their own names from now on.
    mutating func use(_ apps: Apps) {
        self.apps.add(apps)
        makeRoom()
    }

    private mutating func makeRoom() {
        let places = apps.names.count * Self.environments.count
        attempts += Array(repeating: 0, count: places * Self.outcomeCount - attempts.count)
        removed += Array(repeating: 0, count: places - removed.count)
        results += Array(repeating: 0, count: places * Self.resultCount - results.count)
    }
}

// MARK: - Counting

extension LoopCounts {
    /// Counts a response and, if it is meaningful, its duration.
    mutating func request(_ route: RouteName, status: Int, took nanoseconds: UInt64?) {
        guard let route = Self.routeNumbers[route], let status = Self.statusNumbers[status] else { return }
        requests[route * Self.statuses.count + status] &+= 1
        if let nanoseconds { requestDurations[route].observe(nanoseconds: nanoseconds) }
    }

    /// Counts a refusal by a limit.
    mutating func hit(_ limit: LimitKind, times: UInt64 = 1) {
        if let number = LimitKind.allCases.firstIndex(of: limit) { limits[number] &+= times }
    }

    /// Counts the outcome of one attempt to send a push.
    mutating func attempt(
        _ outcome: APNs.Outcome, app: Int, _ environment: Environment, took nanoseconds: UInt64
    ) {
        let number =
            switch outcome {
            case .accepted: 0
            case .rejected(let rejection): 1 + KnownReasons.number(of: rejection.name)
            case .unreachable(let lack):
                1 + Self.reasonCount + KnownReasons.number(of: lack.cause.rawValue)
            }
        attempts[Self.place(app, environment) * Self.outcomeCount + number] &+= 1
        attemptDurations[Self.number(of: environment)].observe(nanoseconds: nanoseconds)
    }

    /// Counts the outcome of one attempt to send by Web Push.
    mutating func attempt(_ outcome: WebPush.Outcome, took nanoseconds: UInt64) {
        let number =
            switch outcome {
            case .accepted: 0
            case .rejected(let rejection): 1 + KnownReasons.number(of: rejection.name)
            case .unreachable(let lack):
                1 + Self.reasonCount + KnownReasons.number(of: lack.cause.rawValue)
            }
        let place = Self.place(apps.number(of: WebPushDevice.bundleID), .production)
        attempts[place * Self.outcomeCount + number] &+= 1
        webPushDurations.observe(nanoseconds: nanoseconds)
    }

    /// Counts the result of a push to an app's device, as shown in the response.
    mutating func result(_ status: DeviceResult.Status, _ bundleID: String, _ environment: Environment) {
        let number =
            switch status {
            case .sent: 0
            case .muted: 1
            case .failed(let reason): 2 + KnownReasons.number(of: reason)
            case .queued(let reason): 2 + Self.reasonCount + KnownReasons.number(of: reason)
            }
        let place = Self.place(apps.number(of: bundleID), environment)
        results[place * Self.resultCount + number] &+= 1
        switch status {
        case .failed(FailureReason.queueFull): hit(.queue)
        case .failed(FailureReason.deviceRateLimited): hit(.devicePushes)
        case .failed, .sent, .queued, .muted: break
        }
    }

    /// Counts a registration that was removed.
    mutating func deviceRemoved(_ bundleID: String, _ environment: Environment, times: UInt64 = 1) {
        removed[Self.place(apps.number(of: bundleID), environment)] &+= times
    }

    /// Counts the result of a push to a Live Activity.
    mutating func activity(_ event: ActivityEvent, _ status: DeviceResult.Status) {
        let number =
            switch status {
            case .sent: 0
            case .failed, .muted: 1
            case .queued: 2
            }
        guard let event = ActivityEvent.allCases.firstIndex(of: event) else { return }
        activities[event * Self.activityResults.count + number] &+= 1
        switch status {
        case .failed(FailureReason.queueFull): hit(.queue)
        case .failed(FailureReason.deviceRateLimited): hit(.devicePushes)
        case .failed, .sent, .queued, .muted: break
        }
    }

    static func place(_ app: Int, _ environment: Environment) -> Int {
        app * environments.count + number(of: environment)
    }

    private static func number(of environment: Environment) -> Int {
        switch environment {
        case .sandbox: 0
        case .production: 1
        }
    }
}

// MARK: - Summing

extension LoopCounts {
    /// Adds another loop's counters, whose apps may have different numbers.
    mutating func add(_ other: LoopCounts) {
        for index in requests.indices { requests[index] &+= other.requests[index] }
        for index in requestDurations.indices { requestDurations[index].add(other.requestDurations[index]) }
        for index in attemptDurations.indices { attemptDurations[index].add(other.attemptDurations[index]) }
        webPushDurations.add(other.webPushDurations)
        for index in activities.indices { activities[index] &+= other.activities[index] }
        for index in limits.indices { limits[index] &+= other.limits[index] }
        retries &+= other.retries
        environmentsHealed &+= other.environmentsHealed
        contested &+= other.contested
        for (theirs, name) in other.apps.names.enumerated() {
            let mine = apps.add(name)
            makeRoom()
            for environment in Self.environments {
                let (from, to) = (Self.place(theirs, environment), Self.place(mine, environment))
                removed[to] &+= other.removed[from]
                for number in 0..<Self.outcomeCount {
                    attempts[to * Self.outcomeCount + number] &+=
                        other.attempts[from * Self.outcomeCount + number]
                }
                for number in 0..<Self.resultCount {
                    results[to * Self.resultCount + number] &+=
                        other.results[from * Self.resultCount + number]
                }
            }
        }
    }
}
