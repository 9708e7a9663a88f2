import APNs
import Storage

/// One attempt to deliver one push: what the policy needs to know about the registration and earlier attempts.
///
/// The policy derives each attempt from the previous one, so no environment and no token renewal is tried
/// twice.
struct Attempt: Hashable, Sendable {
    let registeredEnvironment: Environment
    /// Whether the push may go to the other environment because the app is configured for both.
    let mayChangeEnvironment: Bool
    /// Whether the topic may be the operator's default instead of one that the device sent.
    let isTopicDefault: Bool
    /// Whether the operator configured the topic, as the default or in the list of allowed bundle IDs.
    let isTopicConfigured: Bool
    /// A time before the first attempt, in milliseconds since 1970; registrations made from then on are new.
    let firstSentAt: EpochMilliseconds
    /// The environment of this attempt.
    private(set) var environment: Environment
    /// The registered environment's rejection reason, if this attempt goes to the other one.
    private(set) var reasonElsewhere: Reason.Documented?
    /// Whether APNs already rejected a provider token.
    private(set) var hasRenewedToken = false

    /// The first attempt, to the environment in the registration.
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

    /// The same push to the other environment; `nil` if that has been tried already or isn't allowed.
    func inOtherEnvironment(after reason: Reason.Documented) -> Attempt? {
        guard mayChangeEnvironment, reasonElsewhere == nil else { return nil }
        var next = self
        next.environment = environment.other
        next.reasonElsewhere = reason
        return next
    }

    /// The same push with a new provider token; `nil` if that has been tried already.
    func withNewToken() -> Attempt? {
        guard !hasRenewedToken else { return nil }
        var next = self
        next.hasRenewedToken = true
        return next
    }
}
