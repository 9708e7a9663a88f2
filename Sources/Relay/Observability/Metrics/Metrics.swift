import APNs

/// Every metric of the relay.
///
/// From this table come what Prometheus scrapes and docs/METRICS.md.
enum Metrics {
    /// The whole table, in the order in which it is shown.
    static let table: [Metric] =
        ready + http + pushes + apns + queue + database + logs + program

    /// The table's chapters, as docs/METRICS.md has them.
    static let chapters: [(name: String, metrics: [Metric])] = [
        ("Readiness", ready), ("HTTP and limits", http), ("Pushes", pushes), ("Connections to APNs", apns),
        ("Pushes that wait", queue), ("Database", database), ("Logs", logs), ("Program and process", program),
    ]

    // MARK: Readiness

    private static let ready: [Metric] = [
        Metric("relay_ready", .gauge, "Whether /ready says that the relay can do its work: 1 or 0.") {
            $0.readiness.isReady ? 1 : 0
        },
        Metric(
            "relay_ready_check", .gauge, labels: ["check"],
            "Whether one of the checks of /ready found nothing wrong: 1 or 0."
        ) { snapshot in
            snapshot.readiness.checks.map { Metric.Sample([$0.name], $0.fault == nil ? 1 : 0) }
        },
        Metric(
            "relay_apns_app_fault", .gauge, labels: ["environment", "app"],
            "Whether APNs last refused a configured app's pushes, at most 5 minutes ago, for a reason that only the "
                + "operator can fix: 1 or 0."
        ) { snapshot in
            let names = snapshot.loops.counts.apps
            // Apps beyond the bound share a name.
            let faults = Dictionary(
                snapshot.apnsStandings.map { standing in
                    let name = names.names[names.number(of: standing.bundleID)]
                    return ([standing.environment.rawValue, name], standing.fault == nil ? 0 : 1)
                }, uniquingKeysWith: max)
            return faults.sorted { $0.key.lexicographicallyPrecedes($1.key) }
                .map { Metric.Sample($0.key, $0.value) }
        },
    ]

    // MARK: HTTP

    private static let http: [Metric] = [
        Metric(
            "relay_http_requests_total", .counter, labels: ["route", "status"],
            "Answers on the public listener, by route (other: what no route answers) and HTTP status."
        ) { $0.loops.counts.requestSamples },
        Metric(
            "relay_http_request_duration_seconds", .histogram, labels: ["route"],
            "How long a route took to answer, from the end of the request on."
        ) { snapshot in
            zip(LoopCounts.routes, snapshot.loops.counts.requestDurations)
                .filter { $0.0 != .none }
                .map { Metric.Sample(labels: [$0.label], value: .histogram($1)) }
        },
        Metric("relay_http_connections", .gauge, "Open client connections.") { $0.connections },
        Metric("relay_http_connections_max", .gauge, "Client connections that may be open.") {
            $0.connectionsMax
        },
        Metric(
            "relay_http_connections_evicted_total", .counter,
            "Client connections that were closed to make room for others."
        ) { Int(clamping: $0.connectionsEvicted) },
        Metric(
            "relay_http_connections_memory_bytes", .gauge,
            "Estimated memory of client connections, with what they hold of requests and answers."
        ) { $0.connectionMemoryBytes },
        Metric(
            "relay_http_connections_memory_max_bytes", .gauge,
            "Memory that client connections may take."
        ) { $0.connectionMemoryBytesMax },
        Metric(
            "relay_limits_hit_total", .counter, labels: ["limit"],
            "What was refused because there was too much of it, by limit."
        ) { $0.loops.counts.limitSamples },
    ]

    // MARK: Pushes

    private static let pushes: [Metric] = [
        Metric(
            "relay_pushes_total", .counter, labels: ["environment", "app", "result", "reason"],
            "Pushes of events and notifications, one a device, as the answer says what they came to."
        ) { $0.loops.counts.resultSamples },
        Metric(
            "relay_push_attempts_total", .counter, labels: ["environment", "app", "outcome", "reason"],
            "Attempts to send a push, those of pushes that waited included, by what APNs said."
        ) { $0.loops.counts.attemptSamples },
        Metric(
            "relay_push_attempt_duration_seconds", .histogram, labels: ["environment"],
            "How long an attempt took, its wait for a connection with room included."
        ) { snapshot in
            zip(LoopCounts.environments, snapshot.loops.counts.attemptDurations).map {
                Metric.Sample(labels: [$0.rawValue], value: .histogram($1))
            }
        },
        Metric("relay_pushes_in_flight", .gauge, "Pushes of events without an outcome yet.") {
            $0.loops.pushesInFlight
        },
        Metric("relay_pushes_in_flight_max", .gauge, "Pushes of events that may be without an outcome.") {
            $0.pushesInFlightMax
        },
        Metric(
            "relay_devices_removed_total", .counter,
            "Registrations removed because APNs has given their token up."
        ) { Int(clamping: $0.loops.counts.devicesRemoved + $0.queue.devicesRemoved) },
        Metric(
            "relay_device_environments_healed_total", .counter,
            "Registrations that APNs knew in the other environment, and that have it now."
        ) { Int(clamping: $0.loops.counts.environmentsHealed) },
    ]

    // MARK: APNs

    private static let group = ["environment", "team", "key"]

    private static let apns: [Metric] = [
        Metric(
            "relay_apns_connections", .gauge, labels: group + ["state"],
            "Connections to APNs, by key and by state: open, connecting, or retiring (waiting for last answers)."
        ) { snapshot in
            grouped(snapshot) { statistics in
                [
                    (["open"], UInt64(statistics.openConnections)),
                    (["connecting"], UInt64(statistics.connectingConnections)),
                    (["retiring"], UInt64(statistics.retiringConnections)),
                ]
            }
        },
        Metric("relay_apns_streams", .gauge, labels: group, "Pushes on connections to APNs.") {
            grouped($0) { [([], UInt64($0.pushesUnderWay))] }
        },
        Metric(
            "relay_apns_waiting_pushes", .gauge, labels: group,
            "Pushes that wait for a connection to APNs with room."
        ) { grouped($0) { [([], UInt64($0.pushesWaiting))] } },
        Metric(
            "relay_apns_connections_opened_total", .counter, labels: group,
            "Connections to APNs that came to be."
        ) { grouped($0) { [([], $0.connectionsOpened)] } },
        Metric(
            "relay_apns_connections_failed_total", .counter, labels: group,
            "Attempts to connect to APNs that came to nothing."
        ) { grouped($0) { [([], $0.connectionsFailed)] } },
        Metric(
            "relay_apns_goaways_total", .counter, labels: group + ["reason"],
            "GOAWAY frames of APNs, by its reason or by HTTP/2's error code."
        ) { snapshot in
            grouped(snapshot) { statistics in
                let known = Dictionary(
                    statistics.goAways.map { (GoAwayReasons.known($0), $1) }, uniquingKeysWith: +)
                return known.sorted { $0.key < $1.key }.map { ([$0.key], $0.value) }
            }
        },
    ]

    private static func grouped(
        _ snapshot: MetricsSnapshot, _ read: (ClientStatistics) -> [([String], UInt64)]
    ) -> [Metric.Sample] {
        let groups = snapshot.loops.groups.sorted { $0.key.labels.lexicographicallyPrecedes($1.key.labels) }
        return groups.flatMap { group, statistics in
            read(statistics).map { Metric.Sample(group.labels + $0.0, $0.1) }
        }
    }
}
