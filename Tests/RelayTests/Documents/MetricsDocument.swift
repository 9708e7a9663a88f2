@testable import Relay

/// docs/METRICS.md, made from the table of metrics.
enum MetricsDocument {
    /// The whole document.
    static var text: String {
        let chapters = Metrics.chapters.map { chapter in
            "## \(chapter.name)\n\n"
                + Documents.table(["metric", "kind", "labels", "meaning"], chapter.metrics.map(cells))
        }
        return introduction + "\n" + chapters.joined(separator: "\n") + "\n" + labels
    }

    private static func cells(_ metric: Metric) -> [String] {
        [
            "`\(metric.name)`", metric.kind.rawValue,
            metric.labels.map { "`\($0)`" }.joined(separator: ", "), metric.help,
        ]
    }

    private static let introduction = """
        # Metrics

        <!-- Made from the table of metrics in the code: UPDATE_DOCS=1 swift test --filter DocumentTests -->

        The relay tells Prometheus how it is doing at `/metrics` of its admin listener, in the text format 0.0.4:

            curl http://127.0.0.1:8788/metrics

        - `RELAY_ADMIN_LISTEN` says where: 127.0.0.1:8788 by default, `off` for nowhere. It is never on the public listener and has no
          TLS, so keep it where only your Prometheus can reach it: this machine, or a network of their own. With `RELAY_ADMIN_TOKEN` set,
          clients must send it as a bearer token. Requests under a domain name are refused unless `RELAY_ADMIN_HOSTS` lists it.
                - **In a container** 127.0.0.1 is the container's own, so nobody gets there from outside. To be scraped, set
          `RELAY_ADMIN_LISTEN=0.0.0.0:8788` (in `.env` for the compose files), put Prometheus into the same network, and publish no port for it.
        - `/health` and `/ready` are there too, as on the public listener.
        - [deploy/prometheus](../deploy/prometheus) has a scrape configuration and alert rules; [ALERTS.md](ALERTS.md) tells what to do about each.
        - Counters begin at 0 with the process. Several relays over one database count each its own; only `relay_queue_pushes` and
          `relay_queue_oldest_due_age_seconds` speak of the database that they share: take their maximum, not their sum.
        - A scrape asks each event loop for its numbers and takes some milliseconds. It asks the database no more than `/ready` does.
          While an event loop doesn't answer within \(DurationText.render(Bounds.loopReportDeadline)) the answer is 503: a sum without that loop would go back.

        """

    private static let labels = """
        ## Labels

        Their values come from closed sets and from the configuration, never from a request: no secret, no token, no path.

        | label | values |
        |---|---|
        | `route` | method and path as [API.md](API.md) has them; `other` for what no route answers, invalid HTTP too |
        | `status` | the HTTP status |
        | `limit` | \(LimitKind.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")) |
        | `environment` | `production`, `sandbox`: of `relay_pushes_total` the registration's, of attempts the one asked |
        | `app` | the bundle identifier of a configured app (`APNS_DEFAULT_BUNDLE_ID`, `APNS_BUNDLE_IDS`, the apps file), at most \(Bounds.metricsAppsMax); `other` for the rest |
        | `result` | `sent`, `failed`, `queued`, `muted` as the answer to an event says; of the queue `sent`, `failed`, `again` |
        | `outcome` | `accepted`, `rejected` (APNs said no), `unreachable` (APNs said nothing) |
        | `reason` | APNs' documented words, what kept a push from an answer (`ConnectFailed`, `Timeout`, …), the relay's own (`DeadlineExceeded`, `QueueFull`, `Expired`, …); `none` where nothing went wrong, `other` for a word that isn't known. Of GOAWAY also HTTP/2's error codes |
        | `team`, `key` | the identifiers of a configured key |
        | `check` | \(Readiness().checks.map { "`\($0.name)`" }.joined(separator: ", ")) as in `/ready` |
        | `state` | of connections, see above |

        An event with three devices is one request, three `relay_pushes_total`, and as many `relay_push_attempts_total` as APNs was asked: one each, a second in the
        other environment after `BadDeviceToken`, and one more each time that a queued push is sent again. How queued pushes end is in
        `relay_queue_settled_total`.

        """
}
