import APNs
import PrometheusText
import Storage
import Testing

@testable import Relay

@Suite("What a loop counts", .timeLimit(.minutes(2)))
struct LoopCountsTests {
    private static func apps(_ bundleIDs: [String], default bundleID: String? = nil) throws -> Apps {
        Apps(
            single: PushApp(key: TestKey.first),
            defaultBundleID: try bundleID.map { try #require(Topic($0)) },
            bundleIDs: Set(try bundleIDs.map { try #require(Topic($0)) }))
    }

    private static func read(_ counts: LoopCounts) throws -> PrometheusText {
        var snapshot = MetricsSnapshot()
        snapshot.loops.counts = counts
        return try PrometheusText(
            String(decoding: Exposition.text(Metrics.table, of: snapshot), as: UTF8.self))
    }

    @Test("Outcomes count under their app, environment and reason")
    func outcomes() throws {
        var counts = LoopCounts(try Self.apps(["org.example.a"], default: "org.example.default"))
        let app = counts.apps.number(of: "org.example.a")
        counts.attempt(.accepted(apnsID: "x", uniqueID: nil), app: app, .production, took: 2_000_000)
        counts.attempt(.rejected(410, "Unregistered"), app: app, .production, took: 2_000_000)
        counts.attempt(.rejected(400, "BrandNewReason"), app: app, .sandbox, took: 2_000_000)
        counts.attempt(
            .unreachable(Unreachable(processed: .unknown, cause: .timeout)), app: 0, .sandbox,
            took: 9_000_000_000)
        counts.result(.queued(reason: "Timeout"), "org.example.a", .sandbox)
        counts.result(.failed(reason: "QueueFull"), "org.example.stranger", .sandbox)
        counts.result(.muted, "org.example.default", .sandbox)
        counts.result(.sent(apnsID: "x"), "org.example.default", .sandbox)
        let read = try Self.read(counts)
        func attempts(_ environment: String, _ app: String, _ outcome: String, _ reason: String) -> Double? {
            read.value(
                "relay_push_attempts_total",
                [
                    "transport": "apns", "environment": environment, "app": app, "outcome": outcome,
                    "reason": reason,
                ])
        }
        #expect(attempts("production", "org.example.a", "accepted", "none") == 1)
        #expect(attempts("production", "org.example.a", "rejected", "Unregistered") == 1)
        #expect(attempts("sandbox", "org.example.a", "rejected", "other") == 1)
        #expect(attempts("sandbox", "other", "unreachable", "Timeout") == 1)
        #expect(attempts("sandbox", "org.example.default", "accepted", "none") == 0)
        #expect(read.sum("relay_push_attempts_total") == 4)
        #expect(
            read.value(
                "relay_push_attempt_duration_seconds_bucket",
                ["transport": "apns", "environment": "production", "le": "0.0025"])
                == 2)
        #expect(
            read.value(
                "relay_push_attempt_duration_seconds_sum", ["transport": "apns", "environment": "sandbox"])
                == 9.002)
        func results(_ app: String, _ result: String, _ reason: String) -> Double? {
            read.value(
                "relay_pushes_total",
                [
                    "transport": "apns", "environment": "sandbox", "app": app, "result": result,
                    "reason": reason,
                ])
        }
        #expect(results("org.example.a", "queued", "Timeout") == 1)
        #expect(results("other", "failed", "QueueFull") == 1)
        #expect(results("org.example.default", "muted", "none") == 1)
        #expect(results("org.example.default", "sent", "none") == 1)
        #expect(read.sum("relay_pushes_total") == 4)
        #expect(read.value("relay_limits_hit_total", ["limit": "queue"]) == 1)
    }

    @Test("Every reason that the relay knows is told from every other")
    func reasons() throws {
        #expect(Set(KnownReasons.words).count == KnownReasons.words.count)
        var counts = LoopCounts(try Self.apps(["org.example.a"]))
        for word in KnownReasons.words {
            counts.result(.failed(reason: word), "org.example.a", .sandbox)
            counts.result(.queued(reason: word), "org.example.a", .sandbox)
        }
        let read = try Self.read(counts)
        for word in KnownReasons.words {
            for result in ["failed", "queued"] {
                #expect(read.sum("relay_pushes_total", ["result": result, "reason": word]) == 1)
            }
        }
    }

    @Test("Loops whose apps have other numbers are summed by name, and apps that are gone keep their counts")
    func sums() throws {
        var first = LoopCounts(try Self.apps(["org.example.b"]))
        var second = LoopCounts(try Self.apps(["org.example.a", "org.example.b"]))
        first.use(try Self.apps(["org.example.a", "org.example.c"]))
        for (bundleID, times) in [("org.example.a", 1), ("org.example.b", 2), ("org.example.c", 4)] {
            for _ in 0..<times {
                first.result(.sent(apnsID: "x"), bundleID, .sandbox)
                second.result(.sent(apnsID: "x"), bundleID, .sandbox)
            }
        }
        first.request(.event, status: 200, took: 5)
        second.request(.event, status: 503, took: 5)
        second.request(.none, status: 404, took: nil)
        second.hit(.events)
        var sum = LoopCounts()
        sum.add(first)
        sum.add(second)
        let read = try Self.read(sum)
        func sent(_ app: String) -> Double { read.sum("relay_pushes_total", ["app": app]) }
        #expect(sent("org.example.a") == 2 && sent("org.example.b") == 4)
        // The second loop doesn't know this app.
        #expect(sent("org.example.c") == 4 && sent("other") == 4)
        #expect(read.value("relay_http_requests_total", ["route": "POST /v1/event", "status": "503"]) == 1)
        #expect(read.value("relay_http_requests_total", ["route": "other", "status": "404"]) == 1)
        #expect(
            read.value("relay_http_request_duration_seconds_count", ["route": "POST /v1/event"]) == 2)
        #expect(read.value("relay_limits_hit_total", ["limit": "events"]) == 1)
    }

    @Test("Connections of all loops are summed by their key, and tokens count wherever they were given up")
    func reports() throws {
        let group = APNsGroup(APNsHealth.Destination(key: TestKey.first, environment: .production))
        var snapshot = MetricsSnapshot()
        for number in 1...3 {
            var report = LoopReport()
            var statistics = ClientStatistics()
            statistics.openConnections = number
            statistics.connectionsOpened = 10
            statistics.goAways = ["Shutdown": 1]
            statistics.connectionsReplaced = ["no_streams": 2]
            report.groups = [group: statistics]
            report.pushesInFlight = number
            report.counts.deviceRemoved("org.example.unknown", .production)
            snapshot.loops.add(report)
        }
        for index in 0..<3 * Bounds.metricsAppsMax + 4 {
            let device = Device(
                id: "d", secretHash: RelayFixture.key.primary, token: "aa00",
                bundleID: index < 4 ? "org.example.unknown" : "org.example.a\(index)",
                environment: .production, createdAt: 0, updatedAt: 0)
            snapshot.queue.countRemoved(device)
        }
        #expect(snapshot.queue.removed.count == 2 * Bounds.metricsAppsMax + 1)
        let read = try PrometheusText(
            String(decoding: Exposition.text(Metrics.table, of: snapshot), as: UTF8.self))
        #expect(read.sum("relay_apns_connections", ["state": "open"]) == 6)
        #expect(read.sum("relay_apns_connections_opened_total") == 30)
        #expect(read.sum("relay_apns_goaways_total", ["reason": "Shutdown"]) == 3)
        #expect(read.sum("relay_apns_connections_replaced_total", ["reason": "no_streams"]) == 6)
        #expect(read.value("relay_pushes_in_flight") == 6)
        #expect(
            read.value("relay_devices_removed_total", ["environment": "production", "app": "other"])
                == Double(7 + 3 * Bounds.metricsAppsMax))
        #expect(read.value("relay_devices_removed_total", ["environment": "sandbox", "app": "other"]) == 0)
    }

    @Test("Removed devices count under their app and environment, and every app has a number from the start")
    func removed() throws {
        var counts = LoopCounts(try Self.apps(["org.example.a"], default: "org.example.default"))
        counts.deviceRemoved("org.example.a", .production)
        counts.deviceRemoved("org.example.a", .production)
        counts.deviceRemoved("org.example.stranger", .sandbox)
        var sum = LoopCounts()
        sum.add(counts)
        sum.add(counts)
        let read = try Self.read(sum)
        func removed(_ environment: String, _ app: String) -> Double? {
            read.value("relay_devices_removed_total", ["environment": environment, "app": app])
        }
        #expect(removed("production", "org.example.a") == 4 && removed("sandbox", "org.example.a") == 0)
        #expect(removed("sandbox", "other") == 2 && removed("production", "org.example.default") == 0)
    }

    @Test("Only so many apps have a name")
    func bounded() throws {
        let many = (0..<(Bounds.metricsAppsMax + 50)).map { "org.example.a\($0 + 1000)" }
        var counts = LoopCounts(try Self.apps(many, default: "org.example.a1000"))
        #expect(counts.apps.names.count == Bounds.metricsAppsMax + 1)
        for bundleID in many { counts.result(.sent(apnsID: "x"), bundleID, .sandbox) }
        let read = try Self.read(counts)
        #expect(read.sum("relay_pushes_total", ["app": "other"]) == 50)
        #expect(read.sum("relay_pushes_total", ["app": "org.example.a1000"]) == 1)
    }

    @Test("An app that takes any bundle has no name but its default, whatever devices say")
    func anyBundle() throws {
        let single = Apps(
            single: PushApp(key: TestKey.first), defaultBundleID: Topic("org.example.default"))
        #expect(LoopCounts(single).apps.names == ["other", "org.example.default"])
        #expect(LoopCounts(try Self.apps(["other"])).apps.names == ["other"])
    }
}
