import APNs

@testable import Relay

/// A sender that answers from a script, at once or when it is told to.
///
/// Confined to its loop.
final class ScriptedSender: PushSender {
    /// What to answer to a push; `nil` holds it back until ``answerHeld(_:)``.
    var script: (Push) -> Outcome? = { push in .accepted(apnsID: push.id, uniqueID: nil) }
    /// Every push, in the order in which they came.
    private(set) var pushes: [Push] = []
    /// Pushes without an answer yet.
    private(set) var held: [(push: Push, completion: (Outcome) -> Void)] = []

    func send(_ push: Push, completion: @escaping (Outcome) -> Void) {
        pushes.append(push)
        if let outcome = script(push) {
            completion(outcome)
        } else {
            held.append((push, completion))
        }
    }

    /// Answers the first pushes that were held back.
    func answerHeld(_ count: Int = 1, _ outcome: (Push) -> Outcome) {
        let answered = held.prefix(count)
        held.removeFirst(answered.count)
        for (push, completion) in answered { completion(outcome(push)) }
    }
}

/// A scripted sender for each environment, whatever the app.
///
/// Confined to its loop.
final class ScriptedSenders: PushSenders {
    let production: ScriptedSender
    let sandbox: ScriptedSender
    /// The keys that pushes were sent with, in the order in which they were asked for.
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
    /// APNs took a push under its own identifier.
    static func accepted(_ push: Push) -> Outcome { .accepted(apnsID: push.id, uniqueID: nil) }

    /// APNs refused a push for a documented reason.
    static func rejected(
        _ status: Int, _ reason: String, timestamp: Int64? = nil, retryAfter: Int? = nil
    ) -> Outcome {
        .rejected(
            Rejection(
                status: status, reason: Reason(rawValue: reason), timestamp: timestamp, retryAfter: retryAfter
            ))
    }
}
