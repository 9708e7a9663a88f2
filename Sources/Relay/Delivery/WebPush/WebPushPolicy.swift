import Storage
import WebPush

/// Decides what to do next, given the outcome of a Web Push delivery: the second table in
/// docs/design/outcomes-and-retries.md as one pure function.
enum WebPushPolicy {
    /// The next step.
    enum Step: Hashable, Sendable {
        /// Send the push again immediately, as a small message.
        case sendSmall
        case end(PushEnd)
    }

    /// Maximum immediate attempts: the first one, and one with a small message.
    static let attemptsAtOnceMax = 2

    /// The step after an outcome.
    ///
    /// - Parameters:
    ///   - service: The push service that the push was sent to.
    ///   - mayShrink: Whether the message can be made smaller.
    ///   - firstSentAt: A time before the first attempt; only registrations older than that are removed.
    static func step(
        after outcome: WebPush.Outcome, of service: PushService, mayShrink: Bool,
        firstSentAt: EpochMilliseconds
    ) -> Step {
        switch outcome {
        case .accepted:
            return .end(.sent(apnsID: nil, storeEnvironment: nil))
        case .unreachable(let unreachable):
            var reason = unreachable.cause.rawValue
            if service == .other, unreachable.cause.isConnecting {
                // Tenants choose the host and must not learn what its name resolves to.
                reason = WebPush.Unreachable.Cause.connectFailed.rawValue
            } else if !unreachable.cause.isTemporary {
                return .end(.failed(OutcomePolicy.Failure(reason: reason)))
            }
            return .end(.retryLater(OutcomePolicy.RetryLater(reason: reason, cause: .unreachable)))
        case .rejected(let rejection):
            var failure = OutcomePolicy.Failure(reason: rejection.name)
            switch rejection.kind {
            case .later:
                let cause: OutcomePolicy.RetryLater.Cause =
                    rejection.status == 429 || rejection.status == 406 ? .tooMany : .server
                return .end(
                    .retryLater(
                        OutcomePolicy.RetryLater(
                            reason: rejection.name, cause: cause, after: rejection.retryAfter)))
            case .tooLarge where mayShrink: return .sendSmall
            case .gone: failure.removeIfNotUpdatedAfter = firstSentAt - 1
            // If the key in the settings is wrong, all subscriptions get this response, so none is removed.
            case .wrongKey, .configuration, .tooLarge, .refused: break
            }
            return .end(.failed(failure))
        }
    }
}
