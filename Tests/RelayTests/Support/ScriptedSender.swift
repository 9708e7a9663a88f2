import APNs

@testable import Relay

/// A sender that responds from a script, immediately or when a test says so.
///
/// Confined to its loop.
final class ScriptedSender: PushSender {
    /// Returns the outcome of a push; `nil` holds the push back until ``answerHeld(_:)``.
    var script: (Push) -> Outcome? = { push in .accepted(apnsID: push.id, uniqueID: nil) }
    /// Every push, in the order of arrival.
    private(set) var pushes: [Push] = []
    /// Pushes without an outcome yet.
    private(set) var held: [(push: Push, completion: (Outcome) -> Void)] = []

    func send(_ push: Push, completion: @escaping (Outcome) -> Void) {
        pushes.append(push)
        if let outcome = script(push) {
            completion(outcome)
        } else {
            held.append((push, completion))
        }
    }

    /// Gives the first pushes that were held back an outcome.
    func answerHeld(_ count: Int = 1, _ outcome: (Push) -> Outcome) {
        let answered = held.prefix(count)
        held.removeFirst(answered.count)
        for (push, completion) in answered { completion(outcome(push)) }
    }
}

/// A scripted sender for each environment, regardless of the app.
///
/// Confined to its loop.
final class ScriptedSenders: PushSenders {
    let production: ScriptedSender
    let sandbox: ScriptedSender
    /// The keys of the pushes, in the order of the requests.
    private(set) var keys: [AppKey] = []

    init(production: ScriptedSender, sandbox: ScriptedSender) {
        self.production = production
        self.sandbox = sandbox
    }

    func sender(of key: AppKey, to environment: Environment) -> any PushSender {
        keys.append(key)
        return environment == .production ? production : sandbox
    }
}

extension Outcome {
    /// The outcome of a push that APNs accepted under its own identifier.
    static func accepted(_ push: Push) -> Outcome { .accepted(apnsID: push.id, uniqueID: nil) }

    /// The outcome of a push that APNs refused for a documented reason.
    static func rejected(
        _ status: Int, _ reason: String, timestamp: Int64? = nil, retryAfter: Int? = nil
    ) -> Outcome {
        .rejected(
            Rejection(
                status: status, reason: Reason(rawValue: reason), timestamp: timestamp, retryAfter: retryAfter
            ))
    }
}
