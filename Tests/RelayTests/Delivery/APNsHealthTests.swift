import APNs
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("APNs' answers for each app", .timeLimit(.minutes(2)))
struct APNsHealthTests {
    private static let refused = "InvalidProviderToken"

    /// An app in some environments.
    private static func app(_ key: AppKey, _ environments: Set<Environment> = [.production, .sandbox])
        -> PushApp
    {
        PushApp(key: key, environments: environments)
    }

    /// Apps by their bundle identifiers.
    private static func apps(_ apps: [(String, PushApp)]) throws -> Apps {
        Apps(
            Dictionary(uniqueKeysWithValues: try apps.map { (try #require(Topic($0.0)), $0.1) }))
    }

    private static func target(
        _ bundleID: String = "a", _ key: AppKey = TestKey.first, in environment: Environment = .production
    ) -> APNsHealth.Target {
        APNsHealth.Target(
            bundleID: bundleID, destination: APNsHealth.Destination(key: key, environment: environment))
    }

    @Test("Production's answer decides; until there is one, the sandbox's does")
    func environments() throws {
        let health = APNsHealth(try Self.apps([("a", Self.app(TestKey.first))]))
        #expect(health.fault() == nil)
        health.fault(Self.refused, of: Self.target(in: .sandbox))
        #expect(health.fault() == Self.refused)
        health.accepted(by: Self.target(in: .production))
        #expect(health.fault() == nil)
        health.fault("TopicDisallowed", of: Self.target(in: .production))
        #expect(health.fault() == "TopicDisallowed")
        health.accepted(by: Self.target(in: .sandbox))
        #expect(health.fault() == "TopicDisallowed")
        health.accepted(by: Self.target(in: .production))
        #expect(health.fault() == nil)
    }

    @Test("An app that is only in the sandbox is judged only there")
    func sandboxAlone() throws {
        let health = APNsHealth(try Self.apps([("a", Self.app(TestKey.first, [.sandbox]))]))
        health.accepted(by: Self.target(in: .production))
        health.fault(Self.refused, of: Self.target(in: .sandbox))
        #expect(health.fault() == Self.refused)
        #expect(
            health.standings() == [
                APNsHealth.Standing(bundleID: "a", environment: .sandbox, fault: Self.refused)
            ])
    }

    @Test("A key can be at fault for one app and work for another; an unknown key may work")
    func keys() throws {
        let health = APNsHealth(
            try Self.apps([
                ("a", Self.app(TestKey.first)), ("b", Self.app(TestKey.first)),
                ("c", Self.app(TestKey.second)),
            ]))
        health.accepted(by: Self.target("b"))
        health.fault("TopicDisallowed", of: Self.target("a"))
        health.fault(Self.refused, of: Self.target("c", TestKey.second))
        #expect(health.fault() == nil, "b gets its pushes")
        health.fault(Self.refused, of: Self.target("b"))
        #expect(health.fault() != nil)
        let other = APNsHealth(
            try Self.apps([("a", Self.app(TestKey.first)), ("c", Self.app(TestKey.second))]))
        other.fault(Self.refused, of: Self.target("a"))
        #expect(other.fault() == nil, "nothing is known of c")
        other.fault(Self.refused, of: Self.target("c", TestKey.second))
        #expect(other.fault() == Self.refused)
    }

    @Test("An app without pushes doesn't hide a fault of its key's other apps")
    func silentApp() throws {
        let health = APNsHealth(
            try Self.apps([("a", Self.app(TestKey.first)), ("b", Self.app(TestKey.first))]))
        health.fault(Self.refused, of: Self.target("b"))
        #expect(health.fault() == Self.refused)
    }

    @Test("APNs' answers for apps that the operator didn't name are ignored")
    func unconfigured() throws {
        let app = Self.app(TestKey.first)
        let bundleIDs = Set(["a", "b"].compactMap(Topic.init))
        for apps in [
            Apps(single: app), Apps(single: app, defaultBundleID: Topic("a")),
            Apps(single: app, defaultBundleID: Topic("a"), bundleIDs: bundleIDs),
        ] {
            let health = APNsHealth(apps)
            for index in 0..<100 {
                health.fault(Self.refused, of: Self.target("evil\(index)"))
                health.fault(Self.refused, of: Self.target("a", TestKey.second))
            }
            #expect(health.fault() == nil)
            #expect(health.standings().allSatisfy { $0.fault == nil })
            #expect(health.standings().count == 2 * apps.configuredBundleIDs.count)
            health.fault(Self.refused, of: Self.target("a"))
            health.accepted(by: Self.target("evil0"))
            #expect(health.fault() == (apps.configuredBundleIDs.isEmpty ? nil : Self.refused))
        }
    }

    @Test("A fault that doesn't recur expires; then the sandbox's answer is used again")
    func oldFault() throws {
        let health = APNsHealth(try Self.apps([("a", Self.app(TestKey.first))]))
        let then = MonotonicTime(nanoseconds: 1_000_000_000)
        let end = then + Bounds.apnsFaultMemory
        health.fault(Self.refused, of: Self.target(), at: then)
        health.fault("BadTopic", of: Self.target(in: .sandbox), at: end)
        let before = MonotonicTime(nanoseconds: end.nanoseconds - 1)
        #expect(health.fault(at: before) == Self.refused)
        #expect(health.fault(at: end) == "BadTopic")
        #expect(health.standings(at: end).map(\.fault) == [nil, "BadTopic"])
        #expect(health.fault(at: end + Bounds.apnsFaultMemory) == nil)
    }

    @Test("Replacing the apps keeps what is known about those that stay")
    func reload() throws {
        let stays = ("a", Self.app(TestKey.first))
        let health = APNsHealth(try Self.apps([stays, ("b", Self.app(TestKey.second))]))
        health.fault(Self.refused, of: Self.target("a"))
        health.fault("BadTopic", of: Self.target("b", TestKey.second))
        health.use(try Self.apps([stays]))
        #expect(health.fault() == Self.refused)
        // The same app with another key is another app, so the response for the old key comes too late.
        health.use(try Self.apps([("a", Self.app(TestKey.second))]))
        health.fault(Self.refused, of: Self.target("a"))
        #expect(health.fault() == nil)
        health.use(try Self.apps([("b", Self.app(TestKey.second))]))
        #expect(health.fault() == nil)
    }
}

@Suite("Readiness and strangers", .timeLimit(.minutes(2)))
struct StrangerReadinessTests {
    /// Pushes to a device of a bundle that APNs refuses in one environment; returns `/ready`'s response afterwards.
    private func ready(
        after bundle: String, _ environment: DeviceEnvironment, others: [(String, DeviceEnvironment)] = [],
        rules: RequestRules = RequestRules(defaultBundleID: Topic("org.example.default"))
    ) async throws -> (ready: Response, lines: [JSON.Value]) {
        var options = RelayFixture.Options()
        options.rules = rules
        return try await RelayFixture.with(options) { relay in
            let refuse: @Sendable (Push) -> Outcome = { _ in .rejected(403, "InvalidProviderToken") }
            for (index, other) in others.enumerated() {
                relay.storage.add(
                    "aa0\(index)", under: RelayFixture.key, bundle: other.0, environment: other.1)
            }
            if !others.isEmpty { #expect(await relay.event().json["sent"] == .int(others.count)) }
            relay.storage.state.withLock { $0.devices = [] }
            relay.storage.add("bb00", under: RelayFixture.key, bundle: bundle, environment: environment)
            await relay.loop.run { _ in
                relay.production.value.script = refuse
                relay.sandbox.value.script = refuse
            }
            // A refused provider token makes a stranger's push fail and a configured app's push wait.
            let answer = await relay.event().json
            #expect(answer["sent"] == 0 && (answer["failed"] == 1 || answer["queued"] == 1))
            let ready = await relay.answer(Request(target: "/ready"))
            return (ready, try await relay.lines.closed())
        }
    }

    @Test(
        "A rejected push to an app that isn't configured doesn't affect readiness and is logged as a warning")
    func strangersBundle() async throws {
        let topics = Set(["org.example.default", "org.example.b"].compactMap(Topic.init))
        let listed = RequestRules(defaultBundleID: Topic("org.example.default"), bundleIDs: topics)
        for rules in [RequestRules(), RequestRules(defaultBundleID: Topic("org.example.default")), listed] {
            let (ready, lines) = try await ready(after: "com.evil.app", .production, rules: rules)
            #expect(ready.status == 200)
            let line = try #require(lines.first { $0["event"] == "apns.refused" })
            #expect(line["level"] == "warning" && line["reason"] == "InvalidProviderToken")
            #expect(line["bundle"] == nil, "a stranger wrote it")
            #expect(!lines.contains { $0["event"] == "apns.configuration" })
        }
    }

    @Test("A fault in the sandbox doesn't affect readiness while production accepts")
    func sandbox() async throws {
        let (ready, lines) = try await ready(
            after: "org.example.default", .sandbox, others: [("org.example.default", .production)])
        #expect(ready.status == 200)
        let line = try #require(lines.first { $0["event"] == "apns.configuration" })
        #expect(line["environment"] == "sandbox" && line["bundle"] == "org.example.default")
    }

    @Test("A fault in production shows, whatever the sandbox accepts")
    func production() async throws {
        let (ready, lines) = try await ready(
            after: "org.example.default", .production,
            others: [("org.example.default", .sandbox), ("com.evil.app", .production)])
        #expect(ready.status == 503)
        #expect(ready.json["checks"]?["apns"] == "InvalidProviderToken")
        #expect(lines.contains { $0["event"] == "apns.configuration" && $0["level"] == "error" })
    }

    @Test("The metrics cover each configured app and environment, and no others")
    func metrics() throws {
        var snapshot = MetricsSnapshot()
        let apps = Apps(single: PushApp(key: TestKey.first), defaultBundleID: Topic("org.example.a"))
        let health = APNsHealth(apps)
        snapshot.loops.counts.use(apps)
        let destination = APNsHealth.Destination(key: TestKey.first, environment: .sandbox)
        health.fault("BadTopic", of: APNsHealth.Target(bundleID: "org.example.a", destination: destination))
        health.fault("BadTopic", of: APNsHealth.Target(bundleID: "com.evil.app", destination: destination))
        snapshot.apnsStandings = health.standings()
        let metric = try #require(Metrics.table.first { $0.name == "relay_apns_app_fault" })
        #expect(
            metric.samples(snapshot) == [
                Metric.Sample(["production", "org.example.a"], 0),
                Metric.Sample(["sandbox", "org.example.a"], 1),
            ])
    }

    @Test("Apps beyond those that metrics name share a sample, which shows the fault of any")
    func manyApps() throws {
        let names = (0...Bounds.metricsAppsMax).map { "a\(1000 + $0)" }
        let apps = Apps(
            Dictionary(
                uniqueKeysWithValues: names.compactMap(Topic.init).map {
                    ($0, PushApp(key: TestKey.first, environments: [.production]))
                }))
        var snapshot = MetricsSnapshot()
        snapshot.loops.counts.use(apps)
        let health = APNsHealth(apps)
        let destination = APNsHealth.Destination(key: TestKey.first, environment: .production)
        health.fault(
            "BadTopic", of: APNsHealth.Target(bundleID: try #require(names.last), destination: destination))
        snapshot.apnsStandings = health.standings()
        let metric = try #require(Metrics.table.first { $0.name == "relay_apns_app_fault" })
        let samples = metric.samples(snapshot)
        #expect(samples.count == Bounds.metricsAppsMax + 1)
        #expect(samples.filter { $0.value == .integer(1) } == [Metric.Sample(["production", "other"], 1)])
    }
}
