import APNs
import HTTPServer
import Network
import Programs
import Storage

/// Tests the connection to both APNs servers, and the keys and bundle IDs.
///
/// An environment is in use if an app is configured for it; by default apps use both, because the relay also tries the
/// other environment for a device that registered with the wrong one. Errors in an environment that is in use count as
/// failures; other environments are not tested.
struct APNsCheck: Sendable {
    let servers: APNsServers
    /// The apps; `nil` without a signing key.
    let apps: Apps?
    let clock: WallClock

    /// The findings.
    struct Found: Sendable {
        var hosts: [CheckFinding] = []
        var pushes: [CheckFinding] = []
        var clocks: [ClockCheck.Reading] = []
    }

    /// Tests both servers concurrently; takes at most twice ``Bounds/checkStepDeadline``.
    func run(on loop: EventLoop) async -> Found {
        let tls: TLSClientContext
        do throws(NetworkError) {
            tls = try TLSClientContext(caFile: servers.caFile, alpn: ["h2"])
        } catch {
            return Found(
                hosts: [Self.unusableCertificates(servers, error)],
                pushes: [.skipped(.push, "", "no connection to APNs")])
        }
        return await withTaskGroup { group in
            for environment in [Environment.production, .sandbox] {
                group.addTask { (environment, await self.run(environment, tls, on: loop)) }
            }
            var found: [Environment: Found] = [:]
            for await (environment, part) in group { found[environment] = part }
            let parts = [Environment.production, .sandbox].compactMap { found[$0] }
            return Found(
                hosts: parts.flatMap(\.hosts),
                pushes: parts.flatMap(\.pushes).withKeysOfOneEnvironment(), clocks: parts.flatMap(\.clocks))
        }
    }

    /// The finding for CA certificates that can't be loaded.
    static func unusableCertificates(_ servers: APNsServers, _ error: NetworkError) -> CheckFinding {
        let setting = servers.caFile == nil ? "the system's certificates" : "APNS_CA_FILE"
        return .fault(.caFileUnusable, .apns, setting, error.description)
    }

    private func run(_ environment: Environment, _ tls: TLSClientContext, on loop: EventLoop) async -> Found {
        let origin = servers.origin(of: environment)
        let keys = apps?.keys.filter { apps?.environments(of: $0).contains(environment) == true }
        if let keys, keys.isEmpty {
            return Found(hosts: [.skipped(.apns, environment.rawValue, "no app uses this environment")])
        }
        let outcome = await HostCheck.connect(
            origin, through: servers.proxy(for: origin), tls: tls, on: loop,
            within: min(servers.connectTimeout, Bounds.checkStepDeadline))
        let host = HostCheck.finding(outcome, of: origin, environment)
        var found = Found(hosts: [host])
        guard host.status == .ok else {
            found.pushes = [.skipped(.push, environment.rawValue, "no connection to APNs")]
            return found
        }
        guard let keys, let apps else {
            found.pushes = [.skipped(.push, environment.rawValue, "no signing key")]
            return found
        }
        let tried = Array(keys.prefix(Bounds.checkKeysMax))
        await withTaskGroup { group in
            for (index, key) in tried.enumerated() {
                group.addTask {
                    (index, await self.push(with: key, of: apps, to: environment, tls, on: loop))
                }
            }
            var parts: [Int: ([CheckFinding], ClockCheck.Reading?)] = [:]
            for await (index, part) in group { parts[index] = part }
            for index in tried.indices {
                found.pushes += parts[index]?.0 ?? []
                // One clock reading per server is enough.
                if found.clocks.isEmpty, let reading = parts[index]?.1 { found.clocks = [reading] }
            }
        }
        let left = keys.count - Bounds.checkKeysMax
        if left > 0 {
            found.pushes.append(.skipped(.push, environment.rawValue, "\(left) more keys were not tried"))
        }
        return found
    }

    /// Sends a push for each bundle ID to a token that no device has.
    private func push(
        with key: AppKey, of apps: Apps, to environment: Environment, _ tls: TLSClientContext,
        on loop: EventLoop
    ) async -> ([CheckFinding], ClockCheck.Reading?) {
        let topics = apps.topics(of: key, in: environment)
        let tried: [Topic?] = topics.isEmpty ? [nil] : Array(topics.prefix(Bounds.checkTopicsMax))
        var pushes: [Push] = []
        var generator = IDGenerator()
        for topic in tried {
            guard let token = DeviceToken(PushVerdict.impossibleToken),
                let topic = topic ?? Topic(Self.nobodysTopic)
            else { continue }
            pushes.append(
                Push(
                    Notification(
                        topic: topic, expiration: 0, payload: Array(#"{"aps":{"alert":"relay check"}}"#.utf8)),
                    to: token, id: UUIDv7(at: clock.now, using: &generator).text))
        }
        let sent = await ProbeClient(servers: servers, tls: tls, clock: clock)
            .send(pushes, with: key, to: environment, on: loop)
        var findings = zip(tried, sent.outcomes).map { topic, outcome in
            PushVerdict(environment: environment, topic: topic, keyID: key.keyID).finding(outcome)
        }
        let left = topics.count - tried.count
        if left > 0 {
            findings.append(.skipped(.push, environment.rawValue, "\(left) more bundle IDs were not tried"))
        }
        return (findings, sent.clock)
    }

    private static let nobodysTopic = "relay.check"
}

/// Sends a few pushes on a separate connection, with the same client as `relay serve`.
struct ProbeClient: Sendable {
    let servers: APNsServers
    let tls: TLSClientContext
    let clock: WallClock

    /// The outcomes of the pushes.
    struct Sent: Sendable {
        /// The outcomes, in the order of the pushes.
        var outcomes: [Outcome]
        /// The time in the server's `Date` header, if it sends one.
        var clock: ClockCheck.Reading?
    }

    /// Sends all pushes and waits for their outcomes, for at most ``Bounds/checkStepDeadline``.
    func send(_ pushes: [Push], with key: AppKey, to environment: Environment, on loop: EventLoop) async
        -> Sent
    {
        let origin = servers.origin(of: environment)
        var settings = ClientSettings()
        settings.connectionsMax = 1
        settings.failuresBeforeRefusing = 1
        settings.connectTimeout = min(servers.connectTimeout, Bounds.checkStepDeadline)
        settings.pushTimeout = min(servers.pushTimeout, Bounds.checkStepDeadline)
        settings.keepsDate = true
        settings.proxy = servers.proxy(for: origin)
        return await loop.run { [settings] loop in
            let client = Client(
                endpoint: Endpoint(host: origin.host, port: origin.port), tls: tls, tokens: key.tokens,
                on: loop, settings: settings)
            let outcomes = await withCheckedContinuation { continuation in
                var outcomes: [Outcome?] = pushes.map { _ in nil }
                var waiting = pushes.count
                guard waiting > 0 else { return continuation.resume(returning: [Outcome]()) }
                for (index, push) in pushes.enumerated() {
                    client.send(push) { outcome in
                        outcomes[index] = outcome
                        waiting -= 1
                        if waiting == 0 { continuation.resume(returning: outcomes.compactMap(\.self)) }
                    }
                }
            }
            let now = clock.now
            let reading = client.answerDate.flatMap(HTTPDate.unixTime).map {
                // The header has no fractional seconds.
                ClockCheck.Reading(
                    name: "APNs \(environment.rawValue)", server: EpochMilliseconds($0) * 1000 + 500,
                    local: now)
            }
            await client.stop(deadline: Bounds.apnsClosingDeadline)
            return Sent(outcomes: outcomes, clock: reading)
        }
    }
}
