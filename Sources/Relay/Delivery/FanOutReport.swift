import APNs

/// What the log and `/ready` hear of an event's pushes: a line for each kind of trouble, however many pushes it struck.
struct FanOutReport {
    private struct Trouble: Hashable {
        let reason: String
        let environment: Environment
    }

    /// Refusals that go on until a person does something.
    private var faults: [Trouble: (count: Int, whose: OutcomePolicy.Fault)] = [:]
    private var unreachable: [Trouble: (count: Int, detail: String)] = [:]
    private var accepted: Set<Environment> = []

    /// Notes an outcome and what follows from it.
    mutating func note(_ outcome: Outcome, _ step: OutcomePolicy.Step, _ environment: Environment) {
        switch (outcome, step) {
        case (.accepted, _):
            accepted.insert(environment)
        case (.unreachable(let lack), _):
            let trouble = Trouble(reason: lack.cause.rawValue, environment: environment)
            unreachable[trouble, default: (0, lack.detail)].count += 1
        case (.rejected, .failed(let failure)):
            guard let fault = failure.fault else { return }
            let trouble = Trouble(reason: failure.reason, environment: environment)
            faults[trouble, default: (0, fault)].count += 1
        case (.rejected, _):
            break
        }
    }

    /// Writes the lines, and tells `/ready` of faults and of their end.
    func log(to services: Services) {
        for environment in accepted { services.apnsHealth.accepted(in: environment) }
        for (trouble, fault) in faults {
            if fault.whose == .configuration {
                services.apnsHealth.fault(trouble.reason, in: trouble.environment)
            }
            services.log(
                .error, fault.whose == .configuration ? "apns.configuration" : "apns.defect",
                [
                    .reason(trouble.reason), .note("environment", trouble.environment.rawValue),
                    .count("pushes", fault.count),
                ])
        }
        for (trouble, lack) in unreachable {
            var fields: [LogField] = [
                .reason(trouble.reason), .note("environment", trouble.environment.rawValue),
                .count("pushes", lack.count),
            ]
            if !lack.detail.isEmpty { fields.append(.note("detail", lack.detail)) }
            services.log(.warning, "apns.unreachable", fields)
        }
    }
}
