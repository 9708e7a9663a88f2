import Storage
import WebPush

/// Decides what happens after the outcome of a push by Web Push: the second table in
/// docs/design/outcomes-and-retries.md as one pure function.
enum WebPushPolicy {
    /// The next step.
    enum Step: Hashable, Sendable {
        /// Send it again immediately, without its sealed text.
        case sendUnsealed
        case end(PushEnd)
    }

    /// The step after an outcome.
    ///
    /// - Parameters:
    ///   - mayUnseal: Whether the message had a sealed text.
    ///   - firstSentAt: When the first attempt was sent; only a registration older than that is removed.
    static func step(
        after outcome: WebPush.Outcome, mayUnseal: Bool, firstSentAt: EpochMilliseconds
    ) -> Step {
        switch outcome {
        case .accepted:
            return .end(.sent(apnsID: nil, storeEnvironment: nil))
        case .unreachable(let unreachable):
            let reason = unreachable.cause.rawValue
            guard unreachable.cause.isTemporary else {
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
            case .tooLarge where mayUnseal: return .sendUnsealed
            case .gone: failure.removeIfNotUpdatedAfter = firstSentAt - 1
            // A wrong key in the settings gets this answer for all subscriptions, so none is removed.
            case .wrongKey, .configuration: failure.fault = .configuration
            case .tooLarge, .refused: break
            }
            return .end(.failed(failure))
        }
    }
}
