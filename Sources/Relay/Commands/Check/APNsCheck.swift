import APNs
import HTTPServer
import Network
import Storage

/// Tries the way to both of APNs' servers, and the keys and bundle IDs on it.
///
/// An environment is in use where an app is pushed to in it, which an app is in both unless the apps file says otherwise:
/// the relay also tries the other environment for a device whose registration names the wrong one. What fails in an
/// environment in use has failed; what isn't in use is not tried.
struct APNsCheck: Sendable {
    let servers: APNsServers
    /// `nil` where there is no key to sign with.
    let apps: Apps?
    let clock: WallClock

    /// What was found.
    struct Found: Sendable {
        var hosts: [CheckFinding] = []
        var pushes: [CheckFinding] = []
        var clocks: [ClockCheck.Reading] = []
    }

    /// Tries both servers at once; ends within twice ``Bounds/checkStepDeadline``.
    func run(on loop: EventLoop) async -> Found {
        let tls: TLSClientContext
        do throws(NetworkError) {
            tls = try TLSClientContext(caFile: servers.caFile, alpn: ["h2"])
        } catch {
            return Found(
                hosts: [.fault(.caFileUnusable, .apns, servers.caFile ?? "", error.description)],
                pushes: [.skipped(.push, "", "there is no connection to APNs")])
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

    private func run(_ environment: Environment, _ tls: TLSClientContext, on loop: EventLoop) async -> Found {
        let origin = servers.origin(of: environment)
        let keys = apps?.keys.filter { apps?.environments(of: $0).contains(environment) == true }
        if let keys, keys.isEmpty {
            return Found(hosts: [.skipped(.apns, environment.rawValue, "no app is pushed to there")])
        }
        let outcome = await HostCheck.connect(
            origin, tls: tls, on: loop, within: min(servers.connectTimeout, Bounds.checkStepDeadline))
        let host = HostCheck.finding(outcome, of: origin, environment)
        var found = Found(hosts: [host])
        guard host.status == .ok else {
            found.pushes = [.skipped(.push, environment.rawValue, "there is no connection to APNs")]
            return found
        }
        guard let keys, let apps else {
            found.pushes = [.skipped(.push, environment.rawValue, "there is no key to sign with")]
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
                // One clock a server is enough.
                if found.clocks.isEmpty, let reading = parts[index]?.1 { found.clocks = [reading] }
            }
        }
        let left = keys.count - Bounds.checkKeysMax
        if left > 0 {
            found.pushes.append(.skipped(.push, environment.rawValue, "\(left) more keys are not tried"))
        }
        return found
    }

    /// A push for each bundle ID, to a token that no device has.
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
            findings.append(.skipped(.push, environment.rawValue, "\(left) more bundle IDs are not tried"))
        }
        return (findings, sent.clock)
    }

    private static let nobodysTopic = "relay.check"
}

/// Sends a few pushes over a connection of their own, with the client that `relay serve` has.
struct ProbeClient: Sendable {
    let servers: APNsServers
    let tls: TLSClientContext
    let clock: WallClock

    /// What came of the pushes.
    struct Sent: Sendable {
        /// In the order of the pushes.
        var outcomes: [Outcome]
        /// What the server's `Date` said, where it sends one.
        var clock: ClockCheck.Reading?
    }

    /// Sends them all and waits for each outcome, at most ``Bounds/checkStepDeadline``.
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
                // The date has no fraction.
                ClockCheck.Reading(
                    name: "APNs \(environment.rawValue)", server: EpochMilliseconds($0) * 1000 + 500,
                    local: now)
            }
            await client.stop(deadline: Bounds.apnsClosingDeadline)
            return Sent(outcomes: outcomes, clock: reading)
        }
    }
}
