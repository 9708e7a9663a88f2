import APNs
import Storage

/// Every metric of the relay.
///
/// This table generates the Prometheus output and docs/reference/metrics.md.
enum Metrics {
    /// All metrics, in output order.
    static let table: [Metric] =
        ready + http + pushes + apns + queue + schedules + history + replies + database
        + expiry + logs + program

    /// The sections of docs/reference/metrics.md.
    static let chapters: [(name: String, metrics: [Metric])] = [
        ("Readiness", ready), ("HTTP and limits", http), ("Pushes", pushes), ("Connections to APNs", apns),
        ("Retry queue", queue), ("Schedules", schedules), ("History", history), ("Replies", replies),
        ("Database", database), ("Expired rows", expiry),
        ("Logs", logs),
        ("Program and process", program),
    ]

    // MARK: Readiness

    private static let ready: [Metric] = [
        Metric("relay_ready", .gauge, "1 if /ready reports the relay as ready, otherwise 0.") {
            $0.readiness.isReady ? 1 : 0
        },
        Metric(
            "relay_ready_check", .gauge, labels: ["check"],
            "1 if this check of /ready passes, otherwise 0."
        ) { snapshot in
            snapshot.readiness.checks.map { Metric.Sample([$0.name], $0.fault == nil ? 1 : 0) }
        },
        Metric(
            "relay_apns_app_fault", .gauge, labels: ["environment", "app"],
            "1 if APNs rejected a configured app's latest push within the last 5 minutes for a reason that only the "
                + "operator can fix, otherwise 0."
        ) { snapshot in
            let names = snapshot.loops.counts.apps
            // Apps beyond the limit on labels share one name.
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
            "Responses of the public listener, by route (other: no route matched) and HTTP status."
        ) { $0.loops.counts.requestSamples },
        Metric(
            "relay_http_request_duration_seconds", .histogram, labels: ["route"],
            "Time from the end of a request to its response, by route."
        ) { snapshot in
            zip(LoopCounts.routes, snapshot.loops.counts.requestDurations)
                .filter { $0.0 != .none }
                .map { Metric.Sample(labels: [$0.label], value: .histogram($1)) }
        },
        Metric("relay_http_connections", .gauge, "Open client connections.") { $0.connections },
        Metric("relay_http_connections_max", .gauge, "Maximum open client connections.") {
            $0.connectionsMax
        },
        Metric(
            "relay_http_connections_evicted_total", .counter,
            "Client connections closed to make room for new ones."
        ) { Int(clamping: $0.connectionsEvicted) },
        Metric(
            "relay_http_connections_memory_bytes", .gauge,
            "Estimated memory of client connections, including unfinished requests and unsent responses."
        ) { $0.connectionMemoryBytes },
        Metric(
            "relay_http_connections_memory_max_bytes", .gauge,
            "Limit on the estimated memory of client connections."
        ) { $0.connectionMemoryBytesMax },
        Metric(
            "relay_limits_hit_total", .counter, labels: ["limit"],
            "Requests, pushes and connections refused because a limit was reached, by limit."
        ) { $0.loops.counts.limitSamples },
        Metric(
            "relay_devices", .gauge,
            "Devices of all secrets at the last count, which new registrations trigger; only with RELAY_DEVICES_MAX."
        ) { $0.devices },
        Metric("relay_devices_max", .gauge, "RELAY_DEVICES_MAX, if it is set.") { $0.devicesMax },
        Metric(
            "relay_devices_expired_total", .counter,
            "Registrations removed because they were not renewed for RELAY_DEVICE_DAYS."
        ) { Int(clamping: $0.devicesExpired) },
    ]

    // MARK: Pushes

    private static let pushes: [Metric] = [
        Metric(
            "relay_pushes_total", .counter, labels: ["transport", "environment", "app", "result", "reason"],
            "Pushes for events and notifications, one per device, by the result in the response."
        ) { $0.loops.counts.resultSamples },
        Metric(
            "relay_push_attempts_total", .counter,
            labels: ["transport", "environment", "app", "outcome", "reason"],
            "Attempts to send a push, including retries, by the push service's response."
        ) { $0.loops.counts.attemptSamples },
        Metric(
            "relay_push_attempt_duration_seconds", .histogram, labels: ["transport", "environment"],
            "Duration of an attempt, including the wait for a connection with capacity."
        ) { snapshot in
            let counts = snapshot.loops.counts
            let apns = zip(LoopCounts.environments, counts.attemptDurations).map {
                Metric.Sample(
                    labels: [Device.Transport.apns.rawValue, $0.rawValue], value: .histogram($1))
            }
            guard counts.hasWebPush else { return apns }
            let labels = [Device.Transport.webpush.rawValue, Environment.production.rawValue]
            return apns + [Metric.Sample(labels: labels, value: .histogram(counts.webPushDurations))]
        },
        Metric("relay_pushes_in_flight", .gauge, "Pushes in flight for events.") {
            $0.loops.pushesInFlight
        },
        Metric("relay_pushes_in_flight_max", .gauge, "Maximum pushes in flight for events.") {
            $0.pushesInFlightMax
        },
        Metric(
            "relay_devices_removed_total", .counter, labels: ["environment", "app"],
            "Registrations removed because the push service reported them as no longer valid."
        ) { snapshot in
            var counts = snapshot.loops.counts
            for (app, times) in snapshot.queue.removed {
                counts.deviceRemoved(app.bundleID, Environment(app.environment), times: times)
            }
            return counts.removedSamples
        },
        Metric(
            "relay_installations_contested_total", .counter,
            "Installations (deviceID) that two devices claim alternately, each counted at most once an hour."
        ) { Int(clamping: $0.loops.counts.contested) },
        Metric(
            "relay_activity_pushes_total", .counter, labels: ["event", "result"],
            "Results of events' pushes to Live Activities, which relay_pushes_total doesn't include."
        ) { $0.loops.counts.activitySamples },
        Metric(
            "relay_device_environments_healed_total", .counter,
            "Registrations moved to the other environment because APNs accepted their token there."
        ) { Int(clamping: $0.loops.counts.environmentsHealed) },
    ]

    // MARK: APNs

    private static let group = ["environment", "team", "key"]

    private static let apns: [Metric] = [
        Metric(
            "relay_apns_connections", .gauge, labels: group + ["state"],
            "Connections to APNs, by key and state: open, connecting, or retiring (waiting for the last responses)."
        ) { snapshot in
            grouped(snapshot) { statistics in
                [
                    (["open"], UInt64(statistics.openConnections)),
                    (["connecting"], UInt64(statistics.connectingConnections)),
                    (["retiring"], UInt64(statistics.retiringConnections)),
                ]
            }
        },
        Metric(
            "relay_apns_streams", .gauge, labels: group,
            "Pushes sent to APNs that have no response yet."
        ) { grouped($0) { [([], UInt64($0.pushesUnderWay))] } },
        Metric(
            "relay_apns_waiting_pushes", .gauge, labels: group,
            "Pushes waiting for an APNs connection with capacity."
        ) { grouped($0) { [([], UInt64($0.pushesWaiting))] } },
        Metric(
            "relay_apns_connections_opened_total", .counter, labels: group,
            "Connections established to APNs."
        ) { grouped($0) { [([], $0.connectionsOpened)] } },
        Metric(
            "relay_apns_connections_failed_total", .counter, labels: group,
            "Failed attempts to connect to APNs."
        ) { grouped($0) { [([], $0.connectionsFailed)] } },
        Metric(
            "relay_apns_connections_replaced_total", .counter, labels: group + ["reason"],
            "Connections to APNs that the relay abandoned and replaced, by reason."
        ) { snapshot in
            grouped(snapshot) { statistics in
                ConnectionReplacement.names.map { ([$0], statistics.connectionsReplaced[$0] ?? 0) }
            }
        },
        Metric(
            "relay_apns_goaways_total", .counter, labels: group + ["reason"],
            "GOAWAY frames from APNs, by APNs reason or HTTP/2 error code."
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
