import APNs
import Storage
import WebPush

/// A device that gets its pushes by Web Push: the subscription of a browser or of a UnifiedPush app.
struct WebPushDevice: Sendable {
    /// The stand-in for a bundle ID in a Web Push device's row, in metrics, and in the log.
    static let bundleID = "webpush"
    /// The stand-in for a bundle ID, as a topic.
    static let topic: APNs.Topic = {
        guard let topic = APNs.Topic(bundleID) else { preconditionFailure("not a topic") }
        return topic
    }()
    /// Maximum size of a page's address, in bytes.
    static let pageBytesMax = 512

    let subscription: Subscription
    /// The ID of the key that the subscription was made with.
    let keyID: String
    /// The address that a tap on a notification opens; `nil` if the device shows messages on its own.
    let page: String?

    /// A device from its parts.
    init(_ subscription: Subscription, keyID: String, page: String?) {
        self.subscription = subscription
        self.keyID = keyID
        self.page = page
    }

    /// Reads a registration's column; `nil` if this program didn't write it.
    init?(stored text: String) {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard (4...5).contains(parts.count), let endpoint = try? PushEndpoint(parts[3]),
            let keys = try? SubscriptionKeys(p256dh: parts[1], auth: parts[2])
        else { return nil }
        self.init(
            Subscription(endpoint: endpoint, keys: keys), keyID: parts[0],
            page: parts.count == 5 ? parts[4] : nil)
    }

    /// The text for a registration's column: the parts, which contain no spaces, separated by spaces.
    var stored: String {
        let keys = subscription.keys
        let parts = [keyID, keys.p256dhText, keys.authText, subscription.endpoint.url, page]
        return parts.compactMap(\.self).joined(separator: " ")
    }

    /// The stand-in for a device token: the endpoint's SHA-256, because endpoints are secret.
    var token: DeviceToken { Self.token(of: subscription.endpoint) }

    /// The stand-in for a device token, derived from an endpoint.
    static func token(of endpoint: PushEndpoint) -> DeviceToken {
        guard let token = DeviceToken(endpoint.identity) else { preconditionFailure("not hexadecimal") }
        return token
    }

    /// Whether text is valid as a page's address: `https`, or `http` on this machine.
    static func isPage(_ text: String) -> Bool {
        let bytes = text.utf8
        guard (1...pageBytesMax).contains(bytes.count),
            bytes.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") })
        else { return false }
        if text.hasPrefix("https://") { return bytes.count > "https://".utf8.count }
        return ["http://localhost", "http://127.0.0.1", "http://[::1]"].contains { host in
            guard text.hasPrefix(host) else { return false }
            return [":", "/", nil].contains(text.dropFirst(host.count).first)
        }
    }
}

extension Device {
    /// How a device gets its pushes, as the API names it.
    enum Transport: String, CaseIterable, Sendable {
        case apns, webpush
    }

    /// The host of the push service, for people; `nil` for APNs.
    var webPushHost: String? {
        details.webPush.flatMap(WebPushDevice.init(stored:))?.subscription.endpoint.host
    }

    /// How the device gets its pushes.
    var transport: Transport { details.webPush == nil ? .apns : .webpush }
}
