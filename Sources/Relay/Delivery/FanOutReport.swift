import APNs

/// What the log and `/ready` hear of an event's pushes: a line for each kind of trouble, however many pushes it struck.
struct FanOutReport {
    private struct Trouble: Hashable {
        let reason: String
        let place: APNsHealth.Place
    }

    /// Refusals that go on until a person does something.
    private var faults: [Trouble: (count: Int, whose: OutcomePolicy.Fault)] = [:]
    private var unreachable: [Trouble: (count: Int, detail: String)] = [:]
    private var accepted: Set<APNsHealth.Place> = []
    /// Where the last one was accepted; most are where the one before was.
    private var lastAccepted: APNsHealth.Place?

    /// Notes an outcome and what follows from it.
    mutating func note(
        _ outcome: Outcome, _ step: OutcomePolicy.Step, _ environment: Environment, _ key: AppKey
    ) {
        if case .accepted = outcome, lastAccepted?.key === key, lastAccepted?.environment == environment {
            return
        }
        let place = APNsHealth.Place(key: key, environment: environment)
        switch (outcome, step) {
        case (.accepted, _):
            accepted.insert(place)
            lastAccepted = place
        case (.unreachable(let lack), _):
            let trouble = Trouble(reason: lack.cause.rawValue, place: place)
            unreachable[trouble, default: (0, lack.detail)].count += 1
        case (.rejected, .failed(let failure)):
            note(failure.fault, failure.reason, in: place)
        case (.rejected, .retryLater(let retry)):
            note(retry.fault, retry.reason, in: place)
        case (.rejected, _):
            break
        }
    }

    private mutating func note(
        _ fault: OutcomePolicy.Fault?, _ reason: String, in place: APNsHealth.Place
    ) {
        guard let fault else { return }
        faults[Trouble(reason: reason, place: place), default: (0, fault)].count += 1
    }

    /// Writes the lines, and tells `/ready` of faults and of their end.
    func log(to services: Services) {
        for place in accepted { services.apnsHealth.accepted(in: place) }
        for (trouble, fault) in faults {
            if fault.whose == .configuration {
                services.apnsHealth.fault(trouble.reason, in: trouble.place)
            }
            services.log(
                .error, fault.whose == .configuration ? "apns.configuration" : "apns.defect",
                [
                    .reason(trouble.reason), .note("environment", trouble.place.environment.rawValue),
                    .note("key", trouble.place.key.keyID), .count("pushes", fault.count),
                ])
        }
        for (trouble, lack) in unreachable {
            var fields: [LogField] = [
                .reason(trouble.reason), .note("environment", trouble.place.environment.rawValue),
                .note("key", trouble.place.key.keyID), .count("pushes", lack.count),
            ]
            if !lack.detail.isEmpty { fields.append(.note("detail", lack.detail)) }
            services.log(.warning, "apns.unreachable", fields)
        }
    }
}
