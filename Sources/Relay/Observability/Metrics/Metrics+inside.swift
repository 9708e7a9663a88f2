import Storage

/// What goes on inside: the queue, the database, the logs, the process.
extension Metrics {
    // MARK: Pushes that wait

    static let queue: [Metric] = [
        Metric("relay_queue_pushes", .gauge, "Pushes that wait in the database, of all relays over it.") {
            $0.queue.waiting
        },
        Metric("relay_queue_pushes_max", .gauge, "Pushes that may wait.") { $0.queueMax },
        Metric(
            "relay_queue_oldest_due_age_seconds", .gauge, labels: [],
            "For how long the oldest push that waits has been due; 0 when none is due."
        ) { snapshot in
            let age = snapshot.queue.oldestDue.map { max(0, snapshot.time - $0) } ?? 0
            return [Metric.Sample(value: .nanoseconds(UInt64(age) * 1_000_000))]
        },
        Metric("relay_queue_retries_total", .counter, "Pushes that waited and were sent again.") {
            Int(clamping: $0.loops.counts.retries)
        },
        Metric(
            "relay_queue_settled_total", .counter, labels: ["result", "reason"],
            "What became of pushes that waited and were taken up: sent, failed, or put back to wait (again)."
        ) { $0.queue.settledSamples },
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
        Metric("relay_database_connections_max", .gauge, "Connections to the database server that may be.") {
            $0.storage.connections?.max
        },
        Metric(
            "relay_database_connections_opened_total", .counter,
            "Connections to the database server that came to be."
        ) { $0.storage.connections.map { Int(clamping: $0.opened) } },
        Metric(
            "relay_database_connections_failed_total", .counter,
            "Attempts to connect to the database server that came to nothing."
        ) { $0.storage.connections.map { Int(clamping: $0.failed) } },
        Metric(
            "relay_database_connections_lost_total", .counter,
            "Connections to the database server that broke."
        ) { $0.storage.connections.map { Int(clamping: $0.lost) } },
        Metric(
            "relay_database_waiting_calls", .gauge,
            "Calls that wait for a connection to the database server; with SQLite, changes that wait for the writer."
        ) { $0.storage.waitingCalls },
        Metric(
            "relay_database_call_duration_seconds", .histogram, labels: [],
            "How long calls to the database server took, their wait for a connection included; with SQLite, the "
                + "writer's transactions."
        ) { [Metric.Sample(value: .histogram($0.storage.durations))] },
    ]

    // MARK: Logs

    static let logs: [Metric] = [
        Metric("relay_delivery_log_waiting_rows", .gauge, "Rows of the delivery log not yet in the database.")
        { $0.deliveryLog.waiting },
        Metric("relay_delivery_log_waiting_rows_max", .gauge, "Rows of the delivery log that may wait.") {
            $0.deliveryLog.waitingMax
        },
        Metric(
            "relay_delivery_log_dropped_rows_total", .counter,
            "Rows of the delivery log that never came into the database."
        ) { Int(clamping: $0.deliveryLog.dropped) },
        Metric("relay_log_dropped_lines_total", .counter, "Log lines dropped because too many waited.") {
            Int(clamping: $0.logLinesDropped)
        },
    ]

    // MARK: Program and process

    static let program: [Metric] = [
        Metric(
            "relay_build_info", .gauge, labels: ["version", "database"],
            "Always 1; the program's version and its database's engine."
        ) { [Metric.Sample([$0.version, $0.database], 1)] },
        Metric(
            "relay_tls_certificate_expiry_timestamp_seconds", .gauge,
            "Until when the certificate is valid that the relay shows, in seconds since 1970; only with TLS."
        ) { $0.certificateExpiry.map { Int($0) } },
        Metric(
            "process_cpu_seconds_total", .counter, labels: [], "Processor time of the process, in seconds."
        ) { snapshot in
            snapshot.process.map { [Metric.Sample(value: .nanoseconds($0.cpuNanoseconds))] } ?? []
        },
        Metric("process_resident_memory_bytes", .gauge, "Memory of the process that is resident, in bytes.") {
            $0.process?.residentBytes
        },
        Metric("process_virtual_memory_bytes", .gauge, "Memory of the process that is mapped, in bytes.") {
            $0.process?.virtualBytes
        },
        Metric("process_open_fds", .gauge, "Open file descriptors.") { $0.process?.openFiles },
        Metric("process_max_fds", .gauge, "File descriptors that may be open.") { $0.process?.openFilesMax },
        Metric(
            "process_start_time_seconds", .gauge, labels: [],
            "When the process began, in seconds since 1970."
        ) { snapshot in
            snapshot.process.map { [Metric.Sample(value: .nanoseconds($0.startNanoseconds))] } ?? []
        },
    ]
}
