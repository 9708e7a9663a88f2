import Cryptography
import PushSealing

/// A browser's subscription, with the private key that only the browser would have.
package struct WebPushSubscription: Sendable {
    /// The size of `auth` in bytes (RFC 8291, section 3.2).
    package static let authBytes = 16

    package let id: String
    package let vendor: WebPushVendor
    /// The private scalar for `p256dh`.
    package let privateKey: [UInt8]
    /// `p256dh`: 04, x and y.
    package let publicKey: [UInt8]
    package let auth: [UInt8]
    /// The origin of the endpoint, instead of the simulator's own.
    package let origin: String?
    /// Whether Firefox on Android made the subscription; Mozilla's service then accepts only smaller bodies.
    package let isAndroid: Bool
    /// The key of the only sender whose pushes are accepted (RFC 8292, section 4); `nil` until the first sender's key
    /// is stored.
    package var senderKey: [UInt8]?
    /// Whether the user unsubscribed.
    package var isGone = false

    /// Creates a subscription; `nil` if the private key is out of range or `auth` has the wrong size.
    ///
    /// - Parameters:
    ///   - privateKey: `nil` generates one.
    ///   - auth: `nil` generates one.
    package init?(
        vendor: WebPushVendor, privateKey: [UInt8]? = nil, auth: [UInt8]? = nil, senderKey: [UInt8]? = nil,
        isAndroid: Bool = false, origin: String? = nil
    ) {
        var generator = SystemRandomNumberGenerator()
        let scalar = privateKey ?? P256.randomScalar(using: &generator)
        let secret = auth ?? RandomBytes.make(Self.authBytes, using: &generator)
        guard let publicKey = P256.publicKey(of: scalar), secret.count == Self.authBytes else { return nil }
        id = Base64URL.encode(RandomBytes.make(24, using: &generator))
        self.vendor = vendor
        self.privateKey = scalar
        self.publicKey = publicKey
        self.auth = secret
        self.isAndroid = isAndroid
        self.origin = origin
        self.senderKey = senderKey
    }

    /// The endpoint's target.
    package var target: String { vendor.target(of: id) }

    /// The largest body in bytes.
    package var bodyBytesMax: Int {
        isAndroid ? WebPushVendor.androidBodyBytesMax : WebPushVendor.bodyBytesMax
    }
}

/// The subscriptions of all simulated Web Push services.
package struct SubscriptionRegistry: Sendable {
    /// The maximum number of subscriptions, including ended ones.
    package static let subscriptionsMax = 100_000

    /// The default origin of endpoints, such as `https://localhost:8445`; `nil` unless the services run.
    package var origin: String?
    private var byTarget: [String: WebPushSubscription] = [:]
    /// The targets in the order in which the subscriptions were made.
    private var order: [String] = []

    private let max: Int

    /// Creates an empty registry.
    ///
    /// - Parameter max: The maximum number.
    package init(max: Int = subscriptionsMax) { self.max = max }

    /// All subscriptions, oldest first.
    package var all: [WebPushSubscription] { order.compactMap { byTarget[$0] } }

    /// The subscription whose endpoint has this target.
    package subscript(target target: String) -> WebPushSubscription? { byTarget[target] }

    /// Adds a subscription; false when there are too many.
    package mutating func add(_ subscription: WebPushSubscription) -> Bool {
        guard order.count < max else { return false }
        order.append(subscription.target)
        byTarget[subscription.target] = subscription
        return true
    }

    /// Marks a subscription as ended, or all if `id` is `nil`; false if there is no active one with this ID.
    package mutating func unsubscribe(_ id: String?) -> Bool {
        guard let id else {
            for target in order { byTarget[target]?.isGone = true }
            return true
        }
        guard
            let target = WebPushVendor.allCases.map({ $0.target(of: id) }).first(where: {
                byTarget[$0] != nil
            }),
            byTarget[target]?.isGone == false
        else { return false }
        byTarget[target]?.isGone = true
        return true
    }

    /// Binds the subscription to the sender of a valid push.
    ///
    /// - Throws: A refusal if the user unsubscribed.
    package mutating func accept(_ push: CheckedWebPush) throws(WebPushRefusal) {
        guard let subscription = byTarget[push.subscription.target], !subscription.isGone else {
            throw WebPushRefusal(.gone, "the subscription was deleted")
        }
        if subscription.senderKey == nil { byTarget[subscription.target]?.senderKey = push.senderKey }
    }

    /// Removes all subscriptions.
    package mutating func removeAll() {
        byTarget = [:]
        order = []
    }
}
