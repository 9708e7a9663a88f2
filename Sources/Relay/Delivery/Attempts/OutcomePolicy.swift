import APNs
import Storage

/// Decides what to do next, given a push's outcome: the table in docs/design/outcomes-and-retries.md as one pure
/// function.
enum OutcomePolicy {
    /// The next step.
    enum Step: Hashable, Sendable {
        /// Send the push again immediately.
        case sendAgain(Attempt)
        case end(PushEnd)
    }

    /// A push worth retrying later.
    struct RetryLater: Hashable, Sendable {
        /// The reason, for the response and the log.
        var reason: String
        /// The kind of cause, which determines the back-off.
        var cause: Cause
        /// The minimum delay that APNs asked for, in seconds.
        var after: Int?
        /// Who must fix the cause, if anyone must.
        var fault: Fault?

        /// Why APNs didn't accept the push.
        enum Cause: Hashable, Sendable {
            /// There was no response.
            case unreachable
            /// 5xx: an APNs error.
            case server
            /// 429: too many requests.
            case tooMany
            /// APNs rejected the provider token, which says nothing about the push.
            case token
        }
    }

    /// A push that failed permanently.
    struct Failure: Hashable, Sendable {
        /// The reason, for the response and the log.
        var reason: String
        /// Removes the registration unless its `updated_at` is later than this (`Storage.remove`); `nil` keeps it.
        var removeIfNotUpdatedAfter: EpochMilliseconds?
        /// Who must fix the cause, unless the cause is the device.
        var fault: Fault?
    }

    /// The cause of a failure that affects other pushes as well until someone fixes it; always logged.
    enum Fault: Hashable, Sendable {
        /// The operator's key, team, topic or environment is wrong; also shown in `/ready`.
        case configuration
        /// Either the operator's configuration is wrong, or the key isn't for the registration's app; the operator
        /// didn't configure that app.
        case unconfiguredApp
        /// A bug: the program sent something it should never send.
        case program
    }

    /// Maximum immediate attempts: one per environment, and one with a new provider token.
    static let attemptsAtOnceMax = 3

    static func step(after outcome: Outcome, of attempt: Attempt) -> Step {
        switch outcome {
        case .accepted(let id, _):
            let isRegistered = attempt.environment == attempt.registeredEnvironment
            return .end(
                .sent(apnsID: id, storeEnvironment: isRegistered ? nil : attempt.environment))
        case .unreachable(let unreachable):
            return .end(
                .retryLater(RetryLater(reason: unreachable.cause.rawValue, cause: .unreachable)))
        case .rejected(let rejection):
            return step(after: rejection, of: attempt)
        }
    }

    private static func step(after rejection: Rejection, of attempt: Attempt) -> Step {
        // For a 429 or 5xx the status suffices: the push may be accepted later. The same goes for a push whose
        // connection was closed as idle, which says nothing about the push.
        let isIdle = rejection.reason?.documented == .idleTimeout
        if rejection.status == 429 || 500...599 ~= rejection.status || isIdle {
            let cause: RetryLater.Cause = rejection.status == 429 ? .tooMany : .server
            return .end(
                .retryLater(
                    RetryLater(reason: rejection.name, cause: cause, after: rejection.retryAfter)))
        }
        var failure = Failure(reason: rejection.name)
        switch rejection.reason?.documented {
        case .unregistered?, .expiredToken?:
            // Removal requires both status and reason: a 410 alone could come from a proxy.
            if rejection.status == 410 { failure.removeIfNotUpdatedAfter = goneSince(rejection, attempt) }
        case .badDeviceToken?:
            return wrongEnvironment(.badDeviceToken, attempt)
        case .badEnvironmentKeyInToken?:
            return wrongEnvironment(.badEnvironmentKeyInToken, attempt)
        case .badEnvironmentKeyIdInToken?:
            return wrongEnvironment(.badEnvironmentKeyIdInToken, attempt)
        case .deviceTokenNotForTopic?:
            // If the operator's default topic were wrong, this would remove every device that uses it.
            if !attempt.isTopicDefault { failure.removeIfNotUpdatedAfter = beforeSending(attempt) }
        case .invalidProviderToken? where !attempt.isTopicConfigured:
            // Apple also uses this reason for another team's app, which a new token wouldn't fix.
            failure.fault = .unconfiguredApp
        case .expiredProviderToken?, .invalidProviderToken?, .missingProviderToken?, .unrelatedKeyIdInToken?:
            if let next = attempt.withNewToken() { return .sendAgain(next) }
            // The key or the clock is wrong; the push itself can be sent once that is fixed.
            let fault = configurationFault(attempt)
            return .end(.retryLater(RetryLater(reason: rejection.name, cause: .token, fault: fault)))
        case .topicDisallowed?, .badTopic?:
            // If devices may register with any bundle ID, a stranger may have chosen the topic.
            if attempt.isTopicConfigured { failure.fault = configurationFault(attempt) }
        case .payloadTooLarge?, .badCollapseId?, .badExpirationDate?, .badMessageId?, .badPriority?,
            .badPath?,
            .duplicateHeaders?, .invalidPushType?, .missingDeviceToken?, .missingTopic?, .payloadEmpty?,
            .methodNotAllowed?:
            failure.fault = .program
        case .badCertificate?, .badCertificateEnvironment?, .forbidden?:
            // The key or its permissions are at fault if the operator configured the app.
            failure.fault = configurationFault(attempt)
        case .idleTimeout?, .tooManyProviderTokenUpdates?, .tooManyRequests?, .internalServerError?,
            .serviceUnavailable?,
            .shutdown?,
            nil:
            if rejection.status == 413 { failure.fault = .program }
        }
        return .end(.failed(failure))
    }

    /// The step after a rejection that can mean a wrong environment.
    ///
    /// The registered environment's reason is reported, because the other environment was only a guess.
    private static func wrongEnvironment(_ reason: Reason.Documented, _ attempt: Attempt) -> Step {
        if let next = attempt.inOtherEnvironment(after: reason) { return .sendAgain(next) }
        var failure = Failure(reason: (attempt.reasonElsewhere ?? reason).name)
        switch (attempt.reasonElsewhere, reason) {
        case (.badDeviceToken?, .badDeviceToken):
            failure.removeIfNotUpdatedAfter = beforeSending(attempt)
        case (.badDeviceToken?, _), (_, .badDeviceToken):
            // One environment doesn't know the token and the other couldn't be tried, so the token may be valid
            // there. Removing it would remove every device of an operator whose key is for the wrong
            // environment.
            break
        default:
            // The key is valid in neither environment, or isn't valid in the only allowed one.
            failure.fault = fault(attempt)
        }
        return .end(.failed(failure))
    }

    /// The operator's fault, unless the failure occurred in an environment other than the registered one.
    private static func configurationFault(_ attempt: Attempt) -> Fault? {
        attempt.environment == attempt.registeredEnvironment ? fault(attempt) : nil
    }

    /// The fault behind a rejection that means that the key is wrong or isn't for the app.
    ///
    /// If devices may register with any bundle ID, a stranger may have chosen that app.
    private static func fault(_ attempt: Attempt) -> Fault {
        attempt.isTopicConfigured ? .configuration : .unconfiguredApp
    }

    /// The latest `updated_at` of a registration that is covered by APNs' report of an invalid token.
    ///
    /// APNs reports since when the token has been invalid; registrations made after this push was sent are new
    /// regardless. Without a timestamp, a registration is removed only if it is older than the push.
    private static func goneSince(_ rejection: Rejection, _ attempt: Attempt) -> EpochMilliseconds {
        min(rejection.timestamp ?? .max, beforeSending(attempt))
    }

    /// The last millisecond before the push was sent.
    private static func beforeSending(_ attempt: Attempt) -> EpochMilliseconds {
        attempt.firstSentAt - 1
    }
}
