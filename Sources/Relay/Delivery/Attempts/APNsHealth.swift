import APNs
import Network

/// Whether APNs accepts the configured apps' pushes, judged by its latest responses; shown in `/ready` and the metrics.
///
/// Each app is judged separately in each environment. Only apps that the operator configured are judged: if devices may
/// register with any bundle ID, APNs rejects IDs that strangers invent, which doesn't indicate a fault in this relay.
final class APNsHealth: Sendable {
    /// A key in an environment, with its own connections.
    struct Destination: Hashable, Sendable {
        let key: AppKey
        let environment: Environment

        static func == (left: Destination, right: Destination) -> Bool {
            left.key === right.key && left.environment == right.environment
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(ObjectIdentifier(key))
            hasher.combine(environment)
        }
    }

    /// An app in an environment, as judged by APNs.
    struct Target: Hashable, Sendable {
        let bundleID: String
        let destination: Destination
    }

    /// The state of a configured app in one of its environments.
    struct Standing: Sendable, Equatable {
        let bundleID: String
        let environment: Environment
        /// APNs' reason for rejecting its pushes; `nil` if none is known.
        let fault: String?
    }

    /// APNs' latest response.
    fileprivate enum Answer {
        case accepted
        case fault(reason: String, at: MonotonicTime)
    }

    fileprivate struct State: Sendable {
        var apps: Apps
        /// The latest responses, for configured apps only.
        var answers: [Target: Answer] = [:]
    }

    private let state: Lock<State>

    /// Creates a value that knows nothing about these apps yet.
    init(_ apps: Apps) {
        state = Lock(State(apps: apps))
    }

    /// The apps that the relay pushes to and that are judged.
    var apps: Apps { state.withLock { $0.apps } }

    /// Records that APNs rejected a push for a reason that only the operator can fix.
    func fault(_ reason: String, of target: Target, at now: MonotonicTime = .current) {
        state.withLock { $0.note(.fault(reason: reason, at: now), of: target) }
    }

    /// Records that APNs accepted a push.
    func accepted(by target: Target) {
        state.withLock { $0.note(.accepted, of: target) }
    }

    /// Replaces the apps; keeps the state of apps that remain.
    func use(_ apps: Apps) {
        state.withLock { state in
            state.apps = apps
            state.answers = state.answers.filter { apps.has($0.key) }
        }
    }

    /// The fault that keeps the relay from pushing to any of its apps; `nil` if at least one app may work.
    ///
    /// One app's bad key must not take the relay out of service for other apps, and sandbox errors must not take out a
    /// relay that delivers in production. A key is therefore at fault only if one of its apps is and APNs accepts none
    /// of them. An app's state is its latest production response or, until production has responded, its latest sandbox
    /// response. A key without responses counts as working.
    func fault(at now: MonotonicTime = .current) -> String? {
        state.withLock { state in
            var first: String?
            for key in state.apps.keys {
                guard let reason = state.fault(of: key, at: now) else { return nil }
                first = first ?? reason
            }
            return first
        }
    }

    /// Every configured app in each of its environments, in alphabetical order.
    func standings(at now: MonotonicTime = .current) -> [Standing] {
        state.withLock { state in
            state.apps.configuredBundleIDs.sorted().flatMap { bundleID in
                Self.environments.compactMap { environment in
                    guard let app = state.apps[bundleID], app.environments.contains(environment) else {
                        return nil
                    }
                    let target = Target(
                        bundleID: bundleID, destination: Destination(key: app.key, environment: environment))
                    var fault: String?
                    if case .fault(let reason, _)? = state.answer(to: target, at: now) { fault = reason }
                    return Standing(bundleID: bundleID, environment: environment, fault: fault)
                }
            }
        }
    }

    /// Production first, because most devices use it.
    fileprivate static let environments: [Environment] = [.production, .sandbox]
}

extension APNsHealth.State {
    fileprivate mutating func note(_ answer: APNsHealth.Answer, of target: APNsHealth.Target) {
        guard apps.has(target) else { return }
        answers[target] = answer
    }

    /// APNs' latest response, unless it is a rejection that has expired.
    ///
    /// Without traffic nothing would clear a fault, so it expires after ``Bounds/apnsFaultMemory``.
    fileprivate func answer(to target: APNsHealth.Target, at now: MonotonicTime) -> APNsHealth.Answer? {
        let answer = answers[target]
        if case .fault(_, let time)? = answer, now.since(time) >= Bounds.apnsFaultMemory { return nil }
        return answer
    }

    fileprivate func fault(of key: AppKey, at now: MonotonicTime) -> String? {
        var first: String?
        for bundleID in apps.bundleIDs(of: key) {
            let answers = APNsHealth.environments.lazy.compactMap { environment in
                let destination = APNsHealth.Destination(key: key, environment: environment)
                return answer(to: APNsHealth.Target(bundleID: bundleID, destination: destination), at: now)
            }
            switch answers.first {
            case .accepted?: return nil
            case .fault(let reason, _)?: first = first ?? reason
            case nil: break
            }
        }
        return first
    }
}

extension Apps {
    /// Whether the operator configured the app and this key is used for it in this environment.
    fileprivate func has(_ target: APNsHealth.Target) -> Bool {
        guard configuredBundleIDs.contains(target.bundleID), let app = self[target.bundleID] else {
            return false
        }
        return app.key === target.destination.key && app.environments.contains(target.destination.environment)
    }
}
