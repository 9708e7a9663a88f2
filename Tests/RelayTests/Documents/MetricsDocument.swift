@testable import Relay

/// docs/reference/metrics.md, generated from the table of metrics.
enum MetricsDocument {
    /// The complete document.
    static var text: String {
        let chapters = Metrics.chapters.map { chapter in
            "## \(chapter.name)\n\n" + chapter.metrics.filter { !isStandard($0) }.map(line).joined()
        }
        return introduction + "\n" + chapters.joined(separator: "\n") + "\n" + labels
    }

    /// Whether every Prometheus client library has the metric.
    private static func isStandard(_ metric: Metric) -> Bool { metric.name.hasPrefix("process_") }

    /// The kind of metric that a name indicates, according to the introduction.
    static func kind(of name: String) -> Metric.Kind {
        if name.hasSuffix("_total") { return .counter }
        return name.hasSuffix("_duration_seconds") ? .histogram : .gauge
    }

    private static func line(_ metric: Metric) -> String {
        let labels = metric.labels.isEmpty ? "" : "{\(metric.labels.joined(separator: ", "))}"
        return "- `\(metric.name)\(labels)`: \(metric.help)\n"
    }

    private static let introduction = """
        # Metrics

        <!-- Made from the table of metrics in the code: UPDATE_DOCS=1 swift test --filter DocumentTests -->

        The admin listener serves metrics for Prometheus at `/metrics`, in text format 0.0.4:

            curl http://127.0.0.1:8788/metrics

        - **Address and access**: see `RELAY_ADMIN_LISTEN`, `RELAY_ADMIN_HOSTS` and `RELAY_ADMIN_TOKEN` in the
          [settings](configuration.md#server). The listener has no TLS, so let only your Prometheus reach it.
        - **Containers**: set `RELAY_ADMIN_LISTEN=0.0.0.0:8788` (in `.env` for the compose files), put Prometheus on the same network,
          and don't publish the port.
        - **Several relays**: counters start at 0 when a process starts. `relay_queue_pushes`, `relay_queue_bytes`,
          `relay_queue_oldest_due_age_seconds` and `relay_devices` describe the shared database, so take their maximum, not their sum.
        - **Kinds**: metrics ending in `_total` are counters, those in `_duration_seconds` histograms, and all others gauges.
        - **Slow scrapes**: if an event loop doesn't respond within \(DurationText.render(Bounds.loopReportDeadline)), the scrape gets 503.

        [alerts.md](../operate/alerts.md) explains how to set up scraping and alert rules.

        """

    private static let labels = """
        The relay also exports the standard process metrics, whose names begin with `process_`.

        ## Labels

        | label | values |
        |---|---|
        | `route` | method and path as in [api.md](api.md); `other` for requests that match no route, and for invalid HTTP |
        | `limit` | \(LimitKind.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")) |
        | `transport` | `apns` or `webpush` |
        | `environment` | `production` or `sandbox`: the registration's in `relay_pushes_total`, the one used in metrics of attempts; always `production` for Web Push |
        | `app` | the bundle ID of a configured app (at most \(Bounds.metricsAppsMax) apps); `webpush` for Web Push, `other` for the rest |
        | `result` | `sent`, `failed`, `queued`, `muted`, as in responses to events; for queued pushes `sent`, `failed`, `again` |
        | `outcome` | `accepted`, `rejected` (refused by the push service), `unreachable` (no response) |
        | `reason` | [as in responses and the delivery log](api.md#post-v1event) and, for GOAWAY, HTTP/2 error codes; `none` if there was no fault, `other` for unknown reasons |
        | `check` | \(Readiness().checks.map { "`\($0.name)`" }.joined(separator: ", ")), as in `/ready` |

        `relay_push_attempts_total` counts every request to a push service: one per device, plus

        - one in APNs' other environment, after `BadDeviceToken` or if the key belongs to that environment;
        - one with a new provider token, if the previous token was refused;
        - one without the sealed text, if the message was too large for Web Push;
        - one for each retry of a queued push.

        """
}
