import Cryptography
import HTTPServer
package import JSON
import Network
import PushSealing

extension ControlAPI {
    func subscriptions() -> Response {
        let registry = simulator.shared.withLock { $0.state.subscriptions }
        let origin = registry.origin ?? ""
        return Self.ok(["subscriptions": .array(registry.all.map { .object($0.json(at: origin)) })])
    }

    func postSubscription(_ request: Request) throws(ControlError) -> Response {
        let subscription = try WebPushSubscription(request.body.isEmpty ? [:] : try Self.body(request))
        let origin = try simulator.shared.withLock { shared throws(ControlError) in
            guard let origin = shared.state.subscriptions.origin else {
                throw ControlError("the simulator was started without --webpush-port", status: 409)
            }
            guard shared.state.subscriptions.add(subscription) else {
                throw ControlError(
                    "at most \(SubscriptionRegistry.subscriptionsMax) subscriptions can be made", status: 409)
            }
            return origin
        }
        return Self.ok(.object(subscription.json(at: origin)))
    }

    func deleteSubscription(_ request: Request) throws(ControlError) -> Response {
        let wanted = request.queryValue("id")
        guard simulator.shared.withLock({ $0.state.subscriptions.unsubscribe(wanted) }) else {
            throw ControlError("there is no such subscription", status: 404)
        }
        return Self.ok()
    }
}

extension WebPushSubscription {
    /// Reads the body of `POST /webpush/subscriptions`; docs/reference/simulator.md lists the fields.
    package init(_ value: JSON.Value) throws(ControlError) {
        var fields = try FieldReader(value, "a subscription")
        let vendor = try fields.choice("vendor", of: WebPushVendor.self) ?? .mozilla
        let isAndroid = try fields.bool("android") ?? false
        let origin = try fields.string("origin")
        let senderKey = try fields.base64("applicationServerKey")
        var keys = try FieldReader(fields.value("keys") ?? [:], "`keys`")
        let privateKey = try keys.base64("privateKey")
        let auth = try keys.base64("auth")
        try keys.finish()
        try fields.finish()
        guard !isAndroid || vendor == .mozilla else {
            throw ControlError("`android` is only for `vendor` \"mozilla\"")
        }
        guard origin.map(Self.isOrigin) ?? true else {
            throw ControlError("`origin` must be https:// and a host, perhaps with a port other than 443")
        }
        guard senderKey.map(P256.isPublicKey) ?? true else {
            throw ControlError("`applicationServerKey` must be a P-256 key of 65 bytes")
        }
        guard
            let made = WebPushSubscription(
                vendor: vendor, privateKey: privateKey, auth: auth, senderKey: senderKey,
                isAndroid: isAndroid, origin: origin)
        else {
            throw ControlError("`privateKey` must be a P-256 scalar of 32 bytes, `auth` 16 bytes")
        }
        self = made
    }

    /// Whether a text is the origin of an https URL (RFC 6454, section 6.2).
    private static func isOrigin(_ text: String) -> Bool {
        let parts = text.dropFirst("https://".count).split(separator: ":", omittingEmptySubsequences: false)
        guard text.hasPrefix("https://"), (1...2).contains(parts.count), let host = parts.first else {
            return false
        }
        let isPort = parts.count == 1 || UInt16(parts[1]).map { String($0) == parts[1] && $0 != 443 } ?? false
        return !host.isEmpty && isPort
            && host.utf8.allSatisfy { 0x61...0x7A ~= $0 || 0x30...0x39 ~= $0 || $0 == 0x2D || $0 == 0x2E }
    }

    /// The subscription for the control API, with the members of a browser's `PushSubscription`.
    fileprivate func json(at origin: String) -> JSON.Object {
        var object = JSON.Object()
        object["id"] = .string(id)
        object["vendor"] = .string(vendor.rawValue)
        object["endpoint"] = .string((self.origin ?? origin) + target)
        object["keys"] = [
            "p256dh": .string(Base64URL.encode(publicKey)), "auth": .string(Base64URL.encode(auth)),
        ]
        object["android"] = isAndroid ? true : nil
        object["applicationServerKey"] = senderKey.map { .string(Base64URL.encode($0)) }
        object["gone"] = .bool(isGone)
        return object
    }
}

extension FieldReader {
    /// Reads bytes in base64url without padding.
    fileprivate mutating func base64(_ name: String) throws(ControlError) -> [UInt8]? {
        guard let text = try string(name) else { return nil }
        guard let bytes = Base64URL.decode(text) else {
            throw ControlError("`\(name)` must be base64url without padding")
        }
        return bytes
    }
}
