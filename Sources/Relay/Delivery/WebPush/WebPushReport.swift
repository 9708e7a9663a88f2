import WebPush

/// Logs the failures of pushes by Web Push: one line per service and reason, regardless of the number of pushes.
struct WebPushReport {
    private struct Failure: Hashable {
        let host: String
        let reason: String
        let event: Event
    }

    private enum Event: Hashable {
        /// The service doesn't accept the relay's key: nothing reaches it until the operator acts.
        case configuration
        case refused
        case unreachable
    }

    private var failures: [Failure: Int] = [:]

    /// Records an outcome; a subscription that has ended is normal and not reported.
    mutating func note(_ outcome: Outcome, of service: PushService, host: String) {
        switch outcome {
        case .accepted: break
        case .unreachable(let lack): count(.unreachable, lack.cause.rawValue, host)
        case .rejected(let rejection):
            switch rejection.kind {
            case .gone: break
            // For other services, tenants choose the host and the key that their subscriptions were made with.
            case .configuration where service != .other: count(.configuration, rejection.name, host)
            case .wrongKey, .configuration, .later, .tooLarge, .refused:
                count(.refused, rejection.name, host)
            }
        }
    }

    private mutating func count(_ event: Event, _ reason: String, _ host: String) {
        let failure = Failure(host: host, reason: reason, event: event)
        // Failures that the operator must fix are few: at most one per known service and reason.
        guard
            event == .configuration || failures[failure] != nil
                || failures.count < Bounds.webPushFailuresLoggedMax
        else { return }
        failures[failure, default: 0] += 1
    }

    /// Writes the log lines.
    func log(to services: Services) {
        for (failure, pushes) in failures {
            let fields: [LogField] = [
                .reason(failure.reason), .note("host", failure.host), .count("pushes", pushes),
            ]
            switch failure.event {
            case .configuration: services.log(.error, "webpush.configuration", fields)
            case .refused: services.log(.warning, "webpush.refused", fields)
            case .unreachable: services.log(.warning, "webpush.unreachable", fields)
            }
        }
    }
}
