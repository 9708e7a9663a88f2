import APNs
import Storage

/// What one event loop has counted since the relay began; summed over the loops when somebody asks.
///
/// Plain numbers in arrays: on a push's way nothing is locked, nothing is allocated and no text is made.
struct LoopCounts: Sendable {
    /// The apps by their numbers in this loop's counts.
    private(set) var apps = AppLabels()
    /// Answers, by route and status.
    private var requests = [UInt64](repeating: 0, count: routes.count * statuses.count)
    /// How long answers took, by route.
    private(set) var requestDurations = [DurationHistogram](
        repeating: DurationHistogram(), count: routes.count)
    /// Outcomes of attempts, by app, environment and outcome.
    private var attempts: [UInt64] = []
    /// How long outcomes took, by environment.
    private(set) var attemptDurations = [DurationHistogram](
        repeating: DurationHistogram(), count: environments.count)
    /// What events' pushes came to, by app, environment and result.
    private var results: [UInt64] = []
    /// By ``LimitKind``.
    private var limits = [UInt64](repeating: 0, count: LimitKind.allCases.count)
    /// Stored pushes that were sent again.
    var retries: UInt64 = 0
    /// Registrations that went because APNs has given their token up.
    var devicesRemoved: UInt64 = 0
    /// Registrations whose environment was put right.
    var environmentsHealed: UInt64 = 0

    static let routes = RouteName.allCases
    static let environments = Environment.allCases
    /// Every status that there is an answer with.
    static let statuses = Set(ErrorCode.allCases.map(\.status) + [200]).sorted()
    private static let routeNumbers = Dictionary(
        uniqueKeysWithValues: routes.enumerated().map { ($1, $0) })
    private static let statusNumbers = Dictionary(
        uniqueKeysWithValues: statuses.enumerated().map { ($1, $0) })
    private static let reasonCount = KnownReasons.words.count
    /// `accepted`; rejected and unreachable for each reason.
    private static let outcomeCount = 1 + 2 * reasonCount
    /// `sent`, `muted`; failed and queued for each reason.
    private static let resultCount = 2 + 2 * reasonCount

    /// Counts nothing yet, for some apps.
    init(_ apps: Apps? = nil) {
        if let apps { use(apps) } else { makeRoom() }
    }

    /// Counts apps that are new under their own names from now on.
    mutating func use(_ apps: Apps) {
        self.apps.add(apps)
        makeRoom()
    }

    private mutating func makeRoom() {
        let places = apps.names.count * Self.environments.count
        attempts += Array(repeating: 0, count: places * Self.outcomeCount - attempts.count)
        results += Array(repeating: 0, count: places * Self.resultCount - results.count)
    }
}

// MARK: - Counting

extension LoopCounts {
    /// Counts an answer, and how long it took where that means something.
    mutating func request(_ route: RouteName, status: Int, took nanoseconds: UInt64?) {
        guard let route = Self.routeNumbers[route], let status = Self.statusNumbers[status] else { return }
        requests[route * Self.statuses.count + status] &+= 1
        if let nanoseconds { requestDurations[route].observe(nanoseconds: nanoseconds) }
    }

    /// Counts a refusal for one of the limits.
    mutating func hit(_ limit: LimitKind, times: UInt64 = 1) {
        if let number = LimitKind.allCases.firstIndex(of: limit) { limits[number] &+= times }
    }

    /// Counts the outcome of one attempt to send a push.
    mutating func attempt(_ outcome: Outcome, app: Int, _ environment: Environment, took nanoseconds: UInt64)
    {
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

    /// Counts what the push to a device of an app came to, as the answer says it.
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
        if case .failed(PushQueue.queueFull) = status { hit(.queue) }
    }

    private static func place(_ app: Int, _ environment: Environment) -> Int {
        app * environments.count + number(of: environment)
    }

    private static func number(of environment: Environment) -> Int {
        switch environment {
        case .sandbox: 0
        case .production: 1
        }
    }
}

// MARK: - Summing and reading

extension LoopCounts {
    /// Adds what another loop counted, whose apps may have other numbers.
    mutating func add(_ other: LoopCounts) {
        for index in requests.indices { requests[index] &+= other.requests[index] }
        for index in requestDurations.indices { requestDurations[index].add(other.requestDurations[index]) }
        for index in attemptDurations.indices { attemptDurations[index].add(other.attemptDurations[index]) }
        for index in limits.indices { limits[index] &+= other.limits[index] }
        retries &+= other.retries
        devicesRemoved &+= other.devicesRemoved
        environmentsHealed &+= other.environmentsHealed
        for (theirs, name) in other.apps.names.enumerated() {
            let mine = apps.add(name)
            makeRoom()
            for environment in Self.environments {
                let (from, to) = (Self.place(theirs, environment), Self.place(mine, environment))
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

    /// Answers: route and status, those that there were.
    var requestSamples: [Metric.Sample] {
        Self.routes.enumerated().flatMap { route, name in
            Self.statuses.enumerated().compactMap { status, code in
                let count = requests[route * Self.statuses.count + status]
                return count == 0 ? nil : Metric.Sample([name.label, "\(code)"], count)
            }
        }
    }

    /// Attempts: environment, app, outcome and reason, those that there were and every `accepted`.
    var attemptSamples: [Metric.Sample] {
        samples(attempts, Self.outcomeCount) { number in
            switch number {
            case 0: ("accepted", Self.noReason)
            case ...Self.reasonCount: ("rejected", KnownReasons.words[number - 1])
            default: ("unreachable", KnownReasons.words[number - 1 - Self.reasonCount])
            }
        }
    }

    /// Results: environment, app, result and reason, those that there were and every `sent`.
    var resultSamples: [Metric.Sample] {
        samples(results, Self.resultCount) { number in
            switch number {
            case 0: ("sent", Self.noReason)
            case 1: ("muted", Self.noReason)
            case ..<(2 + Self.reasonCount): ("failed", KnownReasons.words[number - 2])
            default: ("queued", KnownReasons.words[number - 2 - Self.reasonCount])
            }
        }
    }

    /// Limits: each of them.
    var limitSamples: [Metric.Sample] {
        zip(LimitKind.allCases, limits).map { Metric.Sample([$0.rawValue], $1) }
    }

    /// What stands where nothing went wrong.
    static let noReason = "none"

    private func samples(
        _ counts: [UInt64], _ width: Int, _ words: (Int) -> (String, String)
    ) -> [Metric.Sample] {
        apps.names.enumerated().flatMap { app, name in
            Self.environments.flatMap { environment in
                let start = Self.place(app, environment) * width
                return (0..<width).compactMap { number -> Metric.Sample? in
                    let count = counts[start + number]
                    // The first stands there from the start, so that a rate can be seen of the first push.
                    guard count > 0 || number == 0 else { return nil }
                    let (word, reason) = words(number)
                    return Metric.Sample([environment.rawValue, name, word, reason], count)
                }
            }
        }
    }
}

extension RouteName {
    /// The route as metrics name it: never the path that was sent.
    var label: String { self == .none ? KnownReasons.other : rawValue }
}
