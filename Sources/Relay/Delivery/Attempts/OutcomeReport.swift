import APNs

/// Reports an event's outcomes to the log and `/ready`: one line per kind of failure, regardless of the number
/// of pushes.
struct OutcomeReport {
    fileprivate struct Failure: Hashable {
        let reason: String
        let destination: APNsHealth.Destination
        /// The configured app at fault; `nil` if the failure isn't specific to an app.
        var bundleID: String?
    }

    /// Rejections that persist until someone fixes their cause.
    private var faults: [Failure: (count: Int, whose: OutcomePolicy.Fault)] = [:]
    private var unreachable: [Failure: (count: Int, detail: String)] = [:]
    private var accepted: Set<APNsHealth.Target> = []
    /// The target of the latest accepted push; usually, the next accepted push has the same one.
    private var lastAccepted: APNsHealth.Target?

    /// Records an outcome and the step that follows.
    mutating func note(
        _ outcome: Outcome, _ step: OutcomePolicy.Step, _ environment: Environment, _ key: AppKey,
        _ bundleID: String
    ) {
        if case .accepted = outcome, let last = lastAccepted, last.destination.key === key,
            last.destination.environment == environment, last.bundleID == bundleID
        {
            return
        }
        let destination = APNsHealth.Destination(key: key, environment: environment)
        switch (outcome, step) {
        case (.accepted, _):
            let target = APNsHealth.Target(bundleID: bundleID, destination: destination)
            accepted.insert(target)
            lastAccepted = target
        case (.unreachable(let lack), _):
            let failure = Failure(reason: lack.cause.rawValue, destination: destination)
            unreachable[failure, default: (0, lack.detail)].count += 1
        case (.rejected, .end(.failed(let failure))):
            note(failure.fault, failure.reason, in: destination, of: bundleID)
        case (.rejected, .end(.retryLater(let retry))):
            note(retry.fault, retry.reason, in: destination, of: bundleID)
        case (.rejected, _):
            break
        }
    }

    private mutating func note(
        _ fault: OutcomePolicy.Fault?, _ reason: String, in destination: APNsHealth.Destination,
        of bundleID: String
    ) {
        guard let fault else { return }
        var failure = Failure(reason: reason, destination: destination)
        if fault == .configuration { failure.bundleID = bundleID }
        faults[failure, default: (0, fault)].count += 1
    }

    /// Writes the log lines and reports new and resolved faults to `/ready`.
    func log(to services: Services) {
        for target in accepted { services.apnsHealth.accepted(by: target) }
        for (failure, fault) in faults {
            if let bundleID = failure.bundleID {
                let target = APNsHealth.Target(bundleID: bundleID, destination: failure.destination)
                services.apnsHealth.fault(failure.reason, of: target)
            }
            let fields = failure.fields + [.count("pushes", fault.count)]
            switch fault.whose {
            case .configuration: services.log(.error, "apns.configuration", fields)
            case .unconfiguredApp: services.log(.warning, "apns.refused", fields)
            case .program: services.log(.error, "apns.defect", fields)
            }
        }
        for (failure, lack) in unreachable {
            var fields = failure.fields + [.count("pushes", lack.count)]
            if !lack.detail.isEmpty { fields.append(.note("detail", lack.detail)) }
            services.log(.warning, "apns.unreachable", fields)
        }
    }
}

extension OutcomeReport.Failure {
    fileprivate var fields: [LogField] {
        let fields: [LogField] = [
            .reason(reason), .note("environment", destination.environment.rawValue),
            .note("key", destination.key.keyID),
        ]
        return bundleID.map { fields + [.note("bundle", $0)] } ?? fields
    }
}
