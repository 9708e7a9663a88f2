import APNs
import Storage

/// One attempt to deliver one push: what the policy must know of the registration and of earlier attempts.
///
/// The policy makes the next attempt from the one before, so that no environment and no renewal is tried twice.
struct DeliveryAttempt: Hashable, Sendable {
    /// The environment that the registration names.
    let registeredEnvironment: Environment
    /// Whether the push may go to the other environment: the app is configured for both.
    let mayChangeEnvironment: Bool
    /// Whether the topic may be the operator's default and not the device's own word.
    let isTopicDefault: Bool
    /// Whether the operator named the topic, as its default or among the bundle identifiers that may be registered.
    let isTopicConfigured: Bool
    /// When the first attempt of this push was made, milliseconds since 1970.
    ///
    /// The registration was read before.
    let firstSentAt: EpochMilliseconds
    /// The environment that this attempt goes to.
    private(set) var environment: Environment
    /// The reason with which the registered environment refused the push before this one was tried.
    private(set) var reasonElsewhere: Reason.Documented?
    /// Whether a provider token was already refused.
    private(set) var hasRenewedToken = false

    /// The first attempt of a push: to the environment that the registration names.
    init(
        registeredEnvironment: Environment, mayChangeEnvironment: Bool, isTopicDefault: Bool,
        isTopicConfigured: Bool, firstSentAt: EpochMilliseconds
    ) {
        self.registeredEnvironment = registeredEnvironment
        self.mayChangeEnvironment = mayChangeEnvironment
        self.isTopicDefault = isTopicDefault
        self.isTopicConfigured = isTopicConfigured || isTopicDefault
        self.firstSentAt = firstSentAt
        environment = registeredEnvironment
    }

    /// The same push to the other environment; `nil` where that was tried or isn't allowed.
    func inOtherEnvironment(after reason: Reason.Documented) -> DeliveryAttempt? {
        guard mayChangeEnvironment, reasonElsewhere == nil else { return nil }
        var next = self
        next.environment = environment.other
        next.reasonElsewhere = reason
        return next
    }

    /// The same push with a new provider token; `nil` where that was tried.
    func withNewToken() -> DeliveryAttempt? {
        guard !hasRenewedToken else { return nil }
        var next = self
        next.hasRenewedToken = true
        return next
    }
}
