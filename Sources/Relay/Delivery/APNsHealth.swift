import APNs
import Network

/// Whether APNs accepts the configured apps' pushes, as its last answers say: what `/ready` and the metrics show.
///
/// Each app is judged by itself in each environment. Only the apps that the operator named count: where any bundle
/// identifier may be registered, APNs refuses what a stranger made up, and that says nothing about this relay.
final class APNsHealth: Sendable {
    /// A key in an environment: what has connections of its own.
    struct Place: Hashable, Sendable {
        let key: AppKey
        let environment: Environment

        static func == (left: Place, right: Place) -> Bool {
            left.key === right.key && left.environment == right.environment
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(ObjectIdentifier(key))
            hasher.combine(environment)
        }
    }

    /// An app in an environment: what APNs accepts or refuses.
    struct Target: Hashable, Sendable {
        let bundleID: String
        let place: Place
    }

    /// How a configured app stands in one of its environments.
    struct Standing: Sendable, Equatable {
        let bundleID: String
        let environment: Environment
        /// APNs' reason for refusing its pushes; `nil` where none is known.
        let fault: String?
    }

    /// What APNs said last.
    fileprivate enum Answer {
        case accepted
        case fault(reason: String, at: MonotonicTime)
    }

    fileprivate struct State: Sendable {
        var apps: Apps
        /// Of configured apps only.
        var answers: [Target: Answer] = [:]
    }

    private let state: Lock<State>

    /// Nothing is known of these apps yet.
    init(_ apps: Apps) {
        state = Lock(State(apps: apps))
    }

    /// APNs refused a push for a reason that only the operator can fix.
    func fault(_ reason: String, of target: Target, at now: MonotonicTime = .current) {
        state.withLock { $0.note(.fault(reason: reason, at: now), of: target) }
    }

    /// APNs accepted a push.
    func accepted(by target: Target) {
        state.withLock { $0.note(.accepted, of: target) }
    }

    /// Goes on with other apps; what is known of those that stay is kept.
    func use(_ apps: Apps) {
        state.withLock { state in
            state.apps = apps
            state.answers = state.answers.filter { apps.has($0.key) }
        }
    }

    /// The reason of the fault that keeps the relay from pushing to any of its apps; `nil` when one of them may work.
    ///
    /// One app's bad key must not take the others' relay out of service, nor the sandbox a relay that delivers. So a key is
    /// at fault when one of its apps is and APNs accepts none of them, and an app is what production says of it; the
    /// sandbox counts while production has said nothing. A key of which nothing is known may work.
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
                        bundleID: bundleID, place: Place(key: app.key, environment: environment))
                    var fault: String?
                    if case .fault(let reason, _)? = state.answer(to: target, at: now) { fault = reason }
                    return Standing(bundleID: bundleID, environment: environment, fault: fault)
                }
            }
        }
    }

    /// The one that most devices are in first.
    fileprivate static let environments: [Environment] = [.production, .sandbox]
}

extension APNsHealth.State {
    fileprivate mutating func note(_ answer: APNsHealth.Answer, of target: APNsHealth.Target) {
        guard apps.has(target) else { return }
        answers[target] = answer
    }

    /// What APNs said last, unless that was a refusal too long ago.
    ///
    /// Without traffic nothing would ever say that a fault has been fixed, so it counts for ``Bounds/apnsFaultMemory``
    /// only.
    fileprivate func answer(to target: APNsHealth.Target, at now: MonotonicTime) -> APNsHealth.Answer? {
        let answer = answers[target]
        if case .fault(_, let time)? = answer, now.since(time) >= Bounds.apnsFaultMemory { return nil }
        return answer
    }

    fileprivate func fault(of key: AppKey, at now: MonotonicTime) -> String? {
        var first: String?
        for bundleID in apps.bundleIDs(of: key) {
            let answers = APNsHealth.environments.lazy.compactMap { environment in
                let place = APNsHealth.Place(key: key, environment: environment)
                return answer(to: APNsHealth.Target(bundleID: bundleID, place: place), at: now)
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
    /// Whether the operator named an app, and it is pushed to there with that key.
    fileprivate func has(_ target: APNsHealth.Target) -> Bool {
        guard configuredBundleIDs.contains(target.bundleID), let app = self[target.bundleID] else {
            return false
        }
        return app.key === target.place.key && app.environments.contains(target.place.environment)
    }
}
