import APNs
import Instruments
import Programs
import PrometheusText
import Storage
import Testing

@testable import Relay

@Suite("Prometheus' text format", .timeLimit(.minutes(2)))
struct ExpositionTests {
    private static let snapshot = MetricsSnapshot()

    private func text(_ metrics: [Metric]) -> String {
        String(decoding: Exposition.text(metrics, of: Self.snapshot), as: UTF8.self)
    }

    @Test("A metric is its meaning, its kind and its samples; one without samples is left out")
    func whole() {
        let metrics = [
            Metric("relay_things_total", .counter, labels: ["kind", "destination"], "Things.") { _ in
                [Metric.Sample(["a", "b"], 3), Metric.Sample(["c", "d"], 0)]
            },
            Metric("relay_absent", .gauge, "Nothing.") { _ in nil },
            Metric("relay_number", .gauge, "A number.") { _ in -5 },
        ]
        #expect(
            text(metrics) == """
                # HELP relay_things_total Things.
                # TYPE relay_things_total counter
                relay_things_total{kind="a",destination="b"} 3
                relay_things_total{kind="c",destination="d"} 0
                # HELP relay_number A number.
                # TYPE relay_number gauge
                relay_number -5

                """)
    }

    @Test("What would end a label's value or a line is escaped, and reads back as it was")
    func escaped() throws {
        let hostile = "a\"} 1\nb\\n\\"
        let metrics = [
            Metric("relay_label", .gauge, labels: ["app"], "A \\ and\na line.") { _ in
                [Metric.Sample([hostile], 1)]
            }
        ]
        let text = text(metrics)
        #expect(text.split(separator: "\n").count == 3)
        #expect(text.contains("# HELP relay_label A \\\\ and\\na line.\n"))
        #expect(text.contains(#"relay_label{app="a\"} 1\nb\\n\\"} 1"#))
        #expect(try PrometheusText(text).samples.map(\.labels) == [["app": hostile]])
    }

    @Test("A histogram's buckets are sums, in seconds, up to +Inf")
    func histogram() throws {
        var durations = DurationHistogram()
        for milliseconds in [0, 1, 1, 2, 300, 60_000] {
            durations.observe(nanoseconds: UInt64(milliseconds) * 1_000_000)
        }
        durations.observe(nanoseconds: 1_000_001)
        let filled = durations
        let metric = Metric("relay_took_seconds", .histogram, labels: ["route"], "Time.") { _ in
            [Metric.Sample(labels: ["x"], value: .histogram(filled))]
        }
        let read = try PrometheusText(text([metric]))
        func bucket(_ bound: String) -> Double? {
            read.value("relay_took_seconds_bucket", ["route": "x", "le": bound])
        }
        #expect(bucket("0.0005") == 1 && bucket("0.001") == 3 && bucket("0.0025") == 5)
        #expect(bucket("0.25") == 5 && bucket("0.5") == 6 && bucket("10") == 6 && bucket("+Inf") == 7)
        #expect(read.value("relay_took_seconds_count", ["route": "x"]) == 7)
        #expect(read.value("relay_took_seconds_sum", ["route": "x"]) == 60.305000001)
        #expect(durations.count == 7)
    }

    @Test(
        "Nanoseconds become seconds without a rounding",
        arguments: [
            (0, "0"), (1, "0.000000001"), (500_000_000, "0.5"), (1_000_000_000, "1"),
            (12_000_345_000, "12.000345"), (UInt64.max, "18446744073.709551615"),
        ])
    func seconds(nanoseconds: UInt64, text: String) {
        #expect(Exposition.seconds(nanoseconds) == text)
    }

    @Test("The relay's whole table is in the format, with a name, a sentence and a unit for each")
    func table() throws {
        var snapshot = MetricsSnapshot()
        snapshot.storage.connections = StorageLoad.Connections()
        snapshot.certificateExpiry = 1_900_000_000
        (snapshot.devices, snapshot.devicesMax) = (1, 2)
        snapshot.process = ProcessFigures.read()
        snapshot.history = History.Figures(stored: 1)
        snapshot.spans = Tracer.Figures()
        let destination = APNsHealth.Destination(key: TestKey.first, environment: .production)
        var statistics = ClientStatistics()
        statistics.goAways = ["Shutdown": 1, "Whatever": 2, "More": 3]
        statistics.connectionsReplaced = ["no_streams": 4]
        snapshot.loops.groups[APNsGroup(destination)] = statistics
        snapshot.loops.counts.request(.event, status: 200, took: 5)
        snapshot.apnsStandings = [
            APNsHealth.Standing(bundleID: "org.example.a", environment: .production, fault: nil)
        ]
        let text = String(decoding: Exposition.text(Metrics.table, of: snapshot), as: UTF8.self)
        let read = try PrometheusText(text)
        #expect(read.families.map(\.name) == Metrics.table.map(\.name))
        #expect(read.families.allSatisfy { $0.name.hasPrefix("relay_") || $0.name.hasPrefix("process_") })
        #expect(Metrics.chapters.flatMap(\.metrics).map(\.name) == Metrics.table.map(\.name))
        #expect(read.sum("relay_apns_goaways_total", ["reason": "other"]) == 5)
        #expect(read.sum("relay_apns_goaways_total", ["reason": "Shutdown"]) == 1)
        let replaced = "relay_apns_connections_replaced_total"
        #expect(read.sum(replaced, ["reason": "no_streams"]) == 4)
        // A reason that has not occurred yet is already exported, so that the first occurrence shows in a rate.
        #expect(read.sum(replaced, ["reason": "silent"]) == 0)
        #expect(read.families.first { $0.name == replaced }?.samples.count == 3)
        #expect(read.value("relay_tls_certificate_expiry_timestamp_seconds") == 1_900_000_000)
        for metric in Metrics.table where metric.kind == .histogram {
            #expect(metric.name.hasSuffix("_seconds"))
        }
    }

    @Test("Without a server, a certificate or connections to APNs their metrics are left out")
    func left() throws {
        let text = String(decoding: Exposition.text(Metrics.table, of: MetricsSnapshot()), as: UTF8.self)
        let names = try PrometheusText(text).families.map(\.name)
        #expect(!names.contains { $0.hasPrefix("relay_database_connections") || $0.hasPrefix("relay_apns") })
        #expect(!names.contains { $0.hasPrefix("relay_tls") || $0.hasPrefix("process_") })
        #expect(names.contains("relay_database_waiting_calls"))
    }

    @Test("The age of the oldest due push grows with the time, and one that is due later has none")
    func queueAge() throws {
        var snapshot = MetricsSnapshot()
        func age() throws -> Double? {
            let text = String(decoding: Exposition.text(Metrics.table, of: snapshot), as: UTF8.self)
            return try PrometheusText(text).value("relay_queue_oldest_due_age_seconds")
        }
        snapshot.time = 1_800_000_000_000
        #expect(try age() == 0)
        snapshot.queue.oldestDue = 1_800_000_001_000
        #expect(try age() == 0)
        snapshot.queue.oldestDue = 1_799_999_990_500
        #expect(try age() == 9.5)
    }
}

@Suite("What the system says of the process", .timeLimit(.minutes(2)))
struct ProcessFiguresTests {
    @Test("A name with spaces and parentheses hides no field")
    func stat() {
        let numbers = (4...52).map(String.init).joined(separator: " ")
        let read = ProcessStat("17 (a) b (c)) S \(numbers)\n")
        #expect(read?.startTicks == 22 && read?.virtualBytes == 23 && read?.residentPages == 24)
        #expect(ProcessStat("17 relay S 1") == nil && ProcessStat("17 (relay) S 1 2 3") == nil)
    }

    @Test("This process has memory, time, open files and a beginning, which stays the same")
    func read() throws {
        let first = try #require(ProcessFigures.read())
        #expect(first.residentBytes > 1 << 20 && first.virtualBytes > first.residentBytes)
        #expect(first.openFiles > 2 && first.openFiles <= first.openFilesMax)
        let second = try #require(ProcessFigures.read())
        #expect(second.startNanoseconds == first.startNanoseconds)
        #expect(second.cpuNanoseconds >= first.cpuNanoseconds && first.cpuNanoseconds > 0)
        let now = UInt64(WallClock.system.now) * 1_000_000
        #expect(
            first.startNanoseconds > now - 86_400_000_000_000 && first.startNanoseconds < now + 1_000_000_000)
    }
}
