import JSON
import WebPush

@testable import Relay

/// A Web Push sender that responds from a script.
///
/// Confined to its loop.
final class ScriptedWebPush: WebPushSender {
    /// Returns the outcome of a push.
    var script: (Push) -> Outcome = { _ in .accepted }
    /// Every push, in the order of arrival.
    private(set) var pushes: [Push] = []

    func send(_ push: Push, completion: @escaping (Outcome) -> Void) {
        pushes.append(push)
        completion(script(push))
    }

    /// The messages of all pushes as JSON.
    var messages: [JSON.Value] {
        pushes.map { (try? JSON.parse($0.message.payload, maxBytes: 4_096)) ?? nil }
    }
}

extension Outcome {
    /// A push service's refusal.
    static func refused(
        _ kind: Rejection.Kind, _ status: Int, retryAfter: Int? = nil, reason: Reason? = nil
    ) -> Outcome {
        .rejected(
            Rejection(kind: kind, status: status, service: .other, reason: reason, retryAfter: retryAfter))
    }
}
