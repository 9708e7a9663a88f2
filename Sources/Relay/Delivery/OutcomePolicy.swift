import APNs
import Storage

/// What happens after a push came to an outcome: the table of docs/decisions/0006-outcomes.md as one pure function.
enum OutcomePolicy {
    /// The next step.
    enum Step: Hashable, Sendable {
        /// It was delivered. Where the other environment took it, that one is to be stored with the registration.
        case sent(storeEnvironment: Environment?)
        /// Send it once more, at once.
        case sendAgain(DeliveryAttempt)
        /// APNs can't take it now: send it again after a back-off, no sooner than it asked for.
        case retryLater(RetryLater)
        /// It came to nothing.
        case failed(Failure)
    }

    /// A push for which there may be a better time.
    struct RetryLater: Hashable, Sendable {
        /// Why, for the answer and the log.
        var reason: String
        /// What kind of trouble it is: how soon it may be over.
        var trouble: Trouble
        /// The shortest wait that APNs asked for, in seconds.
        var after: Int?
        /// Whose fault it is, where somebody has to put it right.
        var fault: Fault?

        /// What kept APNs from taking the push.
        enum Trouble: Hashable, Sendable {
            /// There was no answer.
            case unreachable
            /// 5xx: APNs' own.
            case server
            /// 429: it had too much.
            case tooMany
            /// It refuses the provider token, which says nothing of the push.
            case token
        }
    }

    /// A push that came to nothing.
    struct Failure: Hashable, Sendable {
        /// Why, for the answer and the log.
        var reason: String
        /// Remove the registration unless its `updated_at` is later than this (`Storage.remove`); `nil` keeps it.
        var removeIfNotUpdatedAfter: EpochMilliseconds?
        /// Whose fault it is where it isn't the device's.
        var fault: Fault?
    }

    /// A failure that will hit other pushes too until a person does something; to be logged at error.
    enum Fault: Hashable, Sendable {
        /// The operator's key, team, topic or environment; to be shown in `/ready` as well.
        case configuration
        /// Either the same, or whoever registered the device named an app that the key isn't for: the operator named
        /// neither.
        case unconfiguredApp
        /// This program's: it sent what it should never send.
        case program
    }

    /// How often a push is sent at once: to each environment, and once more with a new provider token.
    static let attemptsAtOnceMax = 3

    /// The step after an outcome.
    static func step(after outcome: Outcome, of attempt: DeliveryAttempt) -> Step {
        switch outcome {
        case .accepted:
            let isRegistered = attempt.environment == attempt.registeredEnvironment
            return .sent(storeEnvironment: isRegistered ? nil : attempt.environment)
        case .unreachable(let unreachable):
            return .retryLater(RetryLater(reason: unreachable.cause.rawValue, trouble: .unreachable))
        case .rejected(let rejection):
            return step(after: rejection, of: attempt)
        }
    }

    private static func step(after rejection: Rejection, of attempt: DeliveryAttempt) -> Step {
        // The status alone is enough here: whatever answers 429 or 5xx may take the push later.
        if rejection.status == 429 || 500...599 ~= rejection.status {
            return .retryLater(
                RetryLater(
                    reason: rejection.name, trouble: rejection.status == 429 ? .tooMany : .server,
                    after: rejection.retryAfter))
        }
        var failure = Failure(reason: rejection.name)
        switch rejection.reason?.documented {
        case .unregistered?, .expiredToken?:
            // Both are needed to remove something: a lone 410 could be a proxy's.
            if rejection.status == 410 { failure.removeIfNotUpdatedAfter = goneSince(rejection, attempt) }
        case .badDeviceToken?:
            return wrongEnvironment(.badDeviceToken, attempt)
        case .badEnvironmentKeyInToken?:
            return wrongEnvironment(.badEnvironmentKeyInToken, attempt)
        case .badEnvironmentKeyIdInToken?:
            return wrongEnvironment(.badEnvironmentKeyIdInToken, attempt)
        case .deviceTokenNotForTopic?:
            // With the operator's default topic, a wrong default would remove every device.
            if !attempt.isTopicDefault { failure.removeIfNotUpdatedAfter = beforeSending(attempt) }
        case .invalidProviderToken? where !attempt.isTopicConfigured:
            // Apple's word for an app of another team, too: no new token would change that.
            failure.fault = .unconfiguredApp
        case .expiredProviderToken?, .invalidProviderToken?, .missingProviderToken?, .unrelatedKeyIdInToken?:
            if let next = attempt.withNewToken() { return .sendAgain(next) }
            // The key or the clock is wrong: the push is good once somebody has put that right.
            return .retryLater(
                RetryLater(reason: rejection.name, trouble: .token, fault: configurationFault(attempt)))
        case .topicDisallowed?, .badTopic?:
            // Where any bundle may be registered, a topic is whatever a stranger wrote there.
            if attempt.isTopicConfigured { failure.fault = configurationFault(attempt) }
        case .payloadTooLarge?, .badCollapseId?, .badExpirationDate?, .badMessageId?, .badPriority?,
            .badPath?,
            .duplicateHeaders?, .invalidPushType?, .missingDeviceToken?, .missingTopic?, .payloadEmpty?,
            .methodNotAllowed?:
            failure.fault = .program
        case .badCertificate?, .badCertificateEnvironment?, .forbidden?, .idleTimeout?,
            .tooManyProviderTokenUpdates?, .tooManyRequests?, .internalServerError?, .serviceUnavailable?,
            .shutdown?,
            nil:
            if rejection.status == 413 { failure.fault = .program }
        }
        return .failed(failure)
    }

    /// After an answer that a registration with the wrong environment gets, among others.
    ///
    /// The reason that counts is the registered environment's: the other one was only a guess.
    private static func wrongEnvironment(_ reason: Reason.Documented, _ attempt: DeliveryAttempt) -> Step {
        if let next = attempt.inOtherEnvironment(after: reason) { return .sendAgain(next) }
        var failure = Failure(reason: (attempt.reasonElsewhere ?? reason).name)
        switch (attempt.reasonElsewhere, reason) {
        case (.badDeviceToken?, .badDeviceToken):
            failure.removeIfNotUpdatedAfter = beforeSending(attempt)
        case (.badDeviceToken?, _), (_, .badDeviceToken):
            // One environment doesn't know the token and the other could not be asked, so it may be good there. To
            // remove it would remove every device of an operator whose key is for the wrong environment.
            break
        default:
            // The key is good for neither environment, or not for the only one that is allowed.
            failure.fault = fault(attempt)
        }
        return .failed(failure)
    }

    /// The operator's fault, unless it shows only in an environment that no registration named.
    private static func configurationFault(_ attempt: DeliveryAttempt) -> Fault? {
        attempt.environment == attempt.registeredEnvironment ? fault(attempt) : nil
    }

    /// Apple refuses a good key with `InvalidProviderToken`, too, for an app of another team, and where any bundle may be
    /// registered that is whatever a stranger wrote there.
    private static func fault(_ attempt: DeliveryAttempt) -> Fault {
        attempt.isTopicConfigured ? .configuration : .unconfiguredApp
    }

    /// Until when a registration counts as older than APNs' word that its token is gone.
    ///
    /// APNs says since when; what was registered after this push was sent is fresh whatever it says. Without a
    /// timestamp only what is older than the push goes.
    private static func goneSince(_ rejection: Rejection, _ attempt: DeliveryAttempt) -> EpochMilliseconds {
        min(rejection.timestamp ?? .max, beforeSending(attempt))
    }

    /// The last millisecond before the push was sent.
    private static func beforeSending(_ attempt: DeliveryAttempt) -> EpochMilliseconds {
        attempt.firstSentAt - 1
    }
}
