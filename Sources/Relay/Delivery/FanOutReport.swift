import APNs

/// What the log and `/ready` hear of an event's pushes: a line for each kind of trouble, however many pushes it struck.
struct FanOutReport {
    fileprivate struct Trouble: Hashable {
        let reason: String
        let place: APNsHealth.Place
        /// The configured app that it concerns; `nil` where it isn't an app's own.
        var bundleID: String?
    }

    /// Refusals that go on until a person does something.
    private var faults: [Trouble: (count: Int, whose: OutcomePolicy.Fault)] = [:]
    private var unreachable: [Trouble: (count: Int, detail: String)] = [:]
    private var accepted: Set<APNsHealth.Target> = []
    /// Where the last one was accepted; most are where the one before was.
    private var lastAccepted: APNsHealth.Target?

    /// Notes an outcome and what follows from it.
    mutating func note(
        _ outcome: Outcome, _ step: OutcomePolicy.Step, _ environment: Environment, _ key: AppKey,
        _ bundleID: String
    ) {
        if case .accepted = outcome, let last = lastAccepted, last.place.key === key,
            last.place.environment == environment, last.bundleID == bundleID
        {
            return
        }
        let place = APNsHealth.Place(key: key, environment: environment)
        switch (outcome, step) {
        case (.accepted, _):
            let target = APNsHealth.Target(bundleID: bundleID, place: place)
            accepted.insert(target)
            lastAccepted = target
        case (.unreachable(let lack), _):
            let trouble = Trouble(reason: lack.cause.rawValue, place: place)
            unreachable[trouble, default: (0, lack.detail)].count += 1
        case (.rejected, .failed(let failure)):
            note(failure.fault, failure.reason, in: place, of: bundleID)
        case (.rejected, .retryLater(let retry)):
            note(retry.fault, retry.reason, in: place, of: bundleID)
        case (.rejected, _):
            break
        }
    }

    private mutating func note(
        _ fault: OutcomePolicy.Fault?, _ reason: String, in place: APNsHealth.Place, of bundleID: String
    ) {
        guard let fault else { return }
        var trouble = Trouble(reason: reason, place: place)
        if fault == .configuration { trouble.bundleID = bundleID }
        faults[trouble, default: (0, fault)].count += 1
    }

    /// Writes the lines, and tells `/ready` of faults and of their end.
    func log(to services: Services) {
        for target in accepted { services.apnsHealth.accepted(by: target) }
        for (trouble, fault) in faults {
            if let bundleID = trouble.bundleID {
                let target = APNsHealth.Target(bundleID: bundleID, place: trouble.place)
                services.apnsHealth.fault(trouble.reason, of: target)
            }
            let fields = trouble.fields + [.count("pushes", fault.count)]
            switch fault.whose {
            case .configuration: services.log(.error, "apns.configuration", fields)
            case .unconfiguredApp: services.log(.warning, "apns.refused", fields)
            case .program: services.log(.error, "apns.defect", fields)
            }
        }
        for (trouble, lack) in unreachable {
            var fields = trouble.fields + [.count("pushes", lack.count)]
            if !lack.detail.isEmpty { fields.append(.note("detail", lack.detail)) }
            services.log(.warning, "apns.unreachable", fields)
        }
    }
}

extension FanOutReport.Trouble {
    fileprivate var fields: [LogField] {
        let fields: [LogField] = [
            .reason(reason), .note("environment", place.environment.rawValue), .note("key", place.key.keyID),
        ]
        return bundleID.map { fields + [.note("bundle", $0)] } ?? fields
    }
}
