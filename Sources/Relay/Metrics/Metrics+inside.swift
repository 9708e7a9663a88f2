import Instruments
import Storage

/// Metrics of the queue, the database, the logs and the process.
extension Metrics {
    // MARK: Retry queue

    static let queue: [Metric] = [
        Metric("relay_queue_pushes", .gauge, "Pushes queued in the database, by all relays that use it.") {
            $0.queue.waiting
        },
        Metric("relay_queue_pushes_max", .gauge, "Maximum queued pushes.") { $0.queueMax },
        Metric(
            "relay_queue_bytes", .gauge, "Total size of the payloads queued by all relays, in bytes."
        ) {
            $0.queue.waitingBytes
        },
        Metric(
            "relay_queue_bytes_max", .gauge, "Maximum total size of queued pushes' payloads, in bytes."
        ) {
            $0.queueBytesMax
        },
        Metric(
            "relay_queue_oldest_due_age_seconds", .gauge, labels: [],
            "How long the oldest queued push has been due; 0 if none is due."
        ) { snapshot in
            let age = snapshot.queue.oldestDue.map { max(0, snapshot.time - $0) } ?? 0
            return [Metric.Sample(value: .nanoseconds(UInt64(age) * 1_000_000))]
        },
        Metric("relay_queue_retries_total", .counter, "Retries of queued pushes.") {
            Int(clamping: $0.loops.counts.retries)
        },
        Metric(
            "relay_queue_settled_total", .counter, labels: ["result", "reason"],
            "Retry results: sent, failed, or again if the push was queued again."
        ) { $0.queue.settledSamples },
        Metric(
            "relay_queue_unwritten_ends", .gauge,
            "Outcomes of queued pushes that the database has not recorded yet."
        ) { $0.queue.unwritten },
    ]

    // MARK: Schedules

    static let schedules: [Metric] = [
        Metric(
            "relay_schedules_occurrences_total", .counter, labels: ["outcome"],
            "Scheduled sends, by outcome: sent, muted, failed, no_devices, skipped (too late), blocked, invalid (this "
                + "relay can't read it) or unknown_time_zone."
        ) { snapshot in
            zip(ScheduleQueue.Outcome.allCases, snapshot.schedules.outcomes).map {
                Metric.Sample([$0.rawValue], $1)
            }
        },
        Metric(
            "relay_schedules_postponed_total", .counter, labels: ["reason"],
            "Scheduled sends postponed to a later attempt, by reason: rate_limited, overloaded or storage."
        ) { snapshot in
            zip(ScheduleQueue.Postponement.allCases, snapshot.schedules.postponed).map {
                Metric.Sample([$0.rawValue], $1)
            }
        },
        Metric(
            "relay_schedules_oldest_due_age_seconds", .gauge, labels: [],
            "How long the most overdue schedule had been due at this relay's last check; 0 if none was due."
        ) { snapshot in
            let age = snapshot.schedules.oldestDue.map { max(0, snapshot.time - $0) } ?? 0
            return [Metric.Sample(value: .nanoseconds(UInt64(age) * 1_000_000))]
        },
    ]

    // MARK: History

    static let history: [Metric] = [
        Metric(
            "relay_history_items_total", .counter, labels: ["result"],
            "History items, by result: stored, repeated (the eventID already had one) or dropped; only with "
                + "RELAY_HISTORY_DAYS."
        ) { snapshot in
            guard let figures = snapshot.history else { return [] }
            return [
                Metric.Sample(["stored"], figures.stored), Metric.Sample(["repeated"], figures.repeated),
                Metric.Sample(["dropped"], figures.dropped),
            ]
        },
        Metric(
            "relay_history_removed_items_total", .counter, labels: ["reason"],
            "Removed history items, by reason: expired, or replaced because the secret had too many; only with "
                + "RELAY_HISTORY_DAYS."
        ) { snapshot in
            guard let figures = snapshot.history else { return [] }
            return [
                Metric.Sample(["expired"], figures.expired), Metric.Sample(["replaced"], figures.replaced),
            ]
        },
    ]

    // MARK: Replies

    static let replies: [Metric] = [
        Metric(
            "relay_replies_total", .counter, labels: ["result"],
            "Acknowledgements of events, replies to them and results of replies, by result: acknowledged, replied, "
                + "reported, repeated (the event already had one) or unknown (the relay doesn't know the event)."
        ) { snapshot in
            let figures = snapshot.replies
            return [
                Metric.Sample(["acknowledged"], figures.acknowledged),
                Metric.Sample(["replied"], figures.replied),
                Metric.Sample(["reported"], figures.reported), Metric.Sample(["repeated"], figures.repeated),
                Metric.Sample(["unknown"], figures.unknown),
            ]
        },
        Metric(
            "relay_reply_waits", .gauge,
            "Senders waiting for a reply to an event or for outcomes, and phones waiting for a result."
        ) {
            $0.replies.waiting
        },
    ]

    // MARK: Database

    static let database: [Metric] = [
        Metric(
            "relay_database_connections", .gauge, labels: ["state"],
            "Connections to the database server, by state: idle, busy or opening."
        ) { snapshot in
            guard let connections = snapshot.storage.connections else { return [] }
            return [
                Metric.Sample(["idle"], connections.idle), Metric.Sample(["busy"], connections.busy),
                Metric.Sample(["opening"], connections.opening),
            ]
        },
        Metric("relay_database_connections_max", .gauge, "Maximum connections to the database server.") {
            $0.storage.connections?.max
        },
        Metric(
            "relay_database_connections_opened_total", .counter,
            "Connections established to the database server."
        ) { $0.storage.connections.map { Int(clamping: $0.opened) } },
        Metric(
            "relay_database_connections_failed_total", .counter,
            "Failed attempts to connect to the database server."
        ) { $0.storage.connections.map { Int(clamping: $0.failed) } },
        Metric(
            "relay_database_connections_lost_total", .counter,
            "Lost connections to the database server."
        ) { $0.storage.connections.map { Int(clamping: $0.lost) } },
        Metric(
            "relay_database_waiting_calls", .gauge,
            "Calls waiting for a connection to the database server; with SQLite, writes waiting for the writer."
        ) { $0.storage.waitingCalls },
        Metric(
            "relay_database_call_duration_seconds", .histogram, labels: [],
            "Duration of calls to the database server, including the wait for a connection; with SQLite, of the "
                + "writer's transactions."
        ) { [Metric.Sample(value: .histogram($0.storage.durations))] },
    ]

    // MARK: Expired rows

    static let expiry: [Metric] = [
        Metric(
            "relay_secret_locks_removed_total", .counter,
            "Locks of secrets without devices that this relay removed; always 0 with SQLite, which has no locks."
        ) { Int(clamping: $0.secretLocksRemoved) },
        Metric(
            "relay_expired_rows_removed_total", .counter, labels: ["table"],
            "Expired rows that this relay removed, by table."
        ) { snapshot in
            ExpiringTable.allCases.map { Metric.Sample([$0.rawValue], snapshot.rowsPruned[$0] ?? 0) }
        },
        Metric(
            "relay_expired_rows_oldest_age_seconds", .gauge, labels: ["table"],
            "Time since the expiry of the oldest row that this relay has not removed yet, by table; 0 if its "
                + "last cleanup left none. Cleanup runs every ten minutes."
        ) { snapshot in
            ExpiringTable.allCases.map { table in
                let age = snapshot.oldestExpired[table].map { max(0, snapshot.time - $0) } ?? 0
                return Metric.Sample(
                    labels: [table.rawValue], value: .nanoseconds(UInt64(age) * 1_000_000))
            }
        },
    ]

    // MARK: Logs

    static let logs: [Metric] = [
        Metric(
            "relay_delivery_log_waiting_rows", .gauge,
            "Pushes whose delivery log rows are waiting to be written."
        ) {
            $0.deliveryLog.waiting
        },
        Metric(
            "relay_delivery_log_waiting_rows_max", .gauge,
            "Maximum number of pushes whose delivery log rows are waiting to be written."
        ) {
            $0.deliveryLog.waitingMax
        },
        Metric(
            "relay_delivery_log_dropped_rows_total", .counter,
            "Pushes whose delivery log rows were never written."
        ) { Int(clamping: $0.deliveryLog.dropped) },
        Metric(
            "relay_log_dropped_lines_total", .counter,
            "Log lines dropped because too many were waiting to be written."
        ) {
            Int(clamping: $0.logLinesDropped)
        },
        Metric(
            "relay_trace_spans_total", .counter, labels: ["result"],
            "Trace spans, by result: exported, or dropped because too many were waiting or the collector didn't "
                + "accept them; only with RELAY_TRACES_URL."
        ) { snapshot in
            guard let spans = snapshot.spans else { return [] }
            return [Metric.Sample(["exported"], spans.exported), Metric.Sample(["dropped"], spans.dropped)]
        },
    ]

    // MARK: Program and process

    static let program: [Metric] = [
        Metric(
            "relay_build_info", .gauge, labels: ["version", "database"],
            "Always 1; labels show the program's version and the database engine."
        ) { [Metric.Sample([$0.version, $0.database], 1)] },
        Metric(
            "relay_tls_certificate_expiry_timestamp_seconds", .gauge,
            "When the relay's TLS certificate expires, in seconds since 1970; only with TLS."
        ) { $0.certificateExpiry.map { Int($0) } },
        Metric(
            "process_cpu_seconds_total", .counter, labels: [], "CPU time of the process, in seconds."
        ) { snapshot in
            snapshot.process.map { [Metric.Sample(value: .nanoseconds($0.cpuNanoseconds))] } ?? []
        },
        Metric("process_resident_memory_bytes", .gauge, "Resident memory of the process, in bytes.") {
            $0.process?.residentBytes
        },
        Metric("process_virtual_memory_bytes", .gauge, "Virtual memory of the process, in bytes.") {
            $0.process?.virtualBytes
        },
        Metric("process_open_fds", .gauge, "Open file descriptors.") { $0.process?.openFiles },
        Metric("process_max_fds", .gauge, "Maximum open file descriptors.") { $0.process?.openFilesMax },
        Metric(
            "process_start_time_seconds", .gauge, labels: [],
            "When the process started, in seconds since 1970."
        ) { snapshot in
            snapshot.process.map { [Metric.Sample(value: .nanoseconds($0.startNanoseconds))] } ?? []
        },
    ]
}
