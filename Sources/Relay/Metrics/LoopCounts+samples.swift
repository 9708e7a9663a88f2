import APNs
import Storage

extension LoopCounts {
    /// Nonzero response counts by route and status.
    var requestSamples: [Metric.Sample] {
        Self.routes.enumerated().flatMap { route, name in
            Self.statuses.enumerated().compactMap { status, code in
                let count = requests[route * Self.statuses.count + status]
                return count == 0 ? nil : Metric.Sample([name.label, "\(code)"], count)
            }
        }
    }

    /// Nonzero attempt counts by transport, environment, app, outcome and reason, and every `accepted` count.
    var attemptSamples: [Metric.Sample] {
        samples(attempts, Self.outcomeCount) { number in
            switch number {
            case 0: ("accepted", Self.noReason)
            case ...Self.reasonCount: ("rejected", KnownReasons.words[number - 1])
            default: ("unreachable", KnownReasons.words[number - 1 - Self.reasonCount])
            }
        }
    }

    /// Nonzero result counts by transport, environment, app, result and reason, and every `sent` count.
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

    /// Results of pushes to Live Activities by event and result.
    var activitySamples: [Metric.Sample] {
        ActivityEvent.allCases.enumerated().flatMap { event, name in
            Self.activityResults.enumerated().map { result, word in
                Metric.Sample(
                    [name.rawValue, word], activities[event * Self.activityResults.count + result])
            }
        }
    }

    /// Removed registrations by environment and app, including zero counts.
    var removedSamples: [Metric.Sample] {
        apps.names.enumerated().flatMap { app, name in
            Self.environments(of: name).map { environment in
                Metric.Sample([environment.rawValue, name], removed[Self.place(app, environment)])
            }
        }
    }

    /// Refusals by limit, including zero counts.
    var limitSamples: [Metric.Sample] {
        zip(LimitKind.allCases, limits).map { Metric.Sample([$0.rawValue], $1) }
    }

    /// The reason label for a success.
    static let noReason = "none"

    /// Whether pushes by Web Push are counted.
    var hasWebPush: Bool { apps.names.contains(WebPushDevice.bundleID) }

    private static func transport(of app: String) -> Device.Transport {
        app == WebPushDevice.bundleID ? .webpush : .apns
    }

    /// Web Push has no environments; its pushes count as production pushes.
    private static func environments(of app: String) -> [Environment] {
        transport(of: app) == .webpush ? [.production] : environments
    }

    private func samples(
        _ counts: [UInt64], _ width: Int, _ words: (Int) -> (String, String)
    ) -> [Metric.Sample] {
        apps.names.enumerated().flatMap { app, name in
            Self.environments(of: name).flatMap { environment in
                let start = Self.place(app, environment) * width
                return (0..<width).compactMap { number -> Metric.Sample? in
                    let count = counts[start + number]
                    // The count of successes is always present, so that its rate includes the first push.
                    guard count > 0 || number == 0 else { return nil }
                    let (word, reason) = words(number)
                    return Metric.Sample(
                        [Self.transport(of: name).rawValue, environment.rawValue, name, word, reason], count)
                }
            }
        }
    }
}

extension RouteName {
    /// The route's name in metrics; never the path that was sent.
    var label: String { self == .none ? KnownReasons.other : rawValue }
}
