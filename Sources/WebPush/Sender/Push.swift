/// A push: one message for one subscription.
package struct Push: Sendable {
    /// The recipient.
    package let subscription: Subscription
    /// The content, unencrypted.
    package let message: Message
    /// The key that the subscription was made with.
    package let key: VAPIDKey

    /// Creates a push from its parts.
    package init(_ message: Message, to subscription: Subscription, key: VAPIDKey) {
        self.message = message
        self.subscription = subscription
        self.key = key
    }

    /// The size with which the push counts towards a queue's limit.
    var bytes: Int { message.payload.count + subscription.endpoint.url.utf8.count }
}
