/// A user agent's subscription: where to send messages, and the keys that encrypt them.
package struct Subscription: Hashable, Sendable, CustomStringConvertible {
    /// The push resource.
    package let endpoint: PushEndpoint
    /// The user agent's keys.
    package let keys: SubscriptionKeys

    /// Creates a subscription from its parts.
    package init(endpoint: PushEndpoint, keys: SubscriptionKeys) {
        self.endpoint = endpoint
        self.keys = keys
    }

    /// Validates the members of a browser's `PushSubscription`.
    ///
    /// - Throws: ``SubscriptionRefusal``, which identifies the first invalid field.
    package init(
        endpoint: String, p256dh: String, auth: String, allowed rule: HostRule
    ) throws(SubscriptionRefusal) {
        self.endpoint = try PushEndpoint(endpoint)
        guard rule.permission(for: self.endpoint) != nil else { throw .hostNotAllowed }
        keys = try SubscriptionKeys(p256dh: p256dh, auth: auth)
    }

    /// The endpoint's description.
    package var description: String { endpoint.description }
}
