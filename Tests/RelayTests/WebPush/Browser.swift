import JSON
import Storage
import WebPush

@testable import Relay

/// A browser's subscription, as a page registers it.
struct Browser {
    /// The example of RFC 8291, appendix A.
    static let publicKey =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    static let auth = "BTBZMqHH6r4Tts7J_aSIgg"
    static let page = "https://relay.example.org/app/"

    var endpoint = "https://updates.push.services.mozilla.com/wpush/v2/one"
    var page: String?
    /// Additional members of the registration.
    var members: JSON.Value = [:]

    /// The keys of a relay with Web Push.
    static func keys(_ current: VAPIDKey = VAPIDKey(), _ others: [VAPIDKey] = []) throws -> WebPushKeys {
        WebPushKeys(
            current: current, others: others, subject: try VAPIDSubject("mailto:push@example.org"),
            hosts: try HostRule(more: ["push.example.org", "localhost:8443"]))
    }

    /// The options of a relay with Web Push.
    static func options(_ keys: WebPushKeys? = nil) throws -> RelayFixture.Options {
        var options = RelayFixture.Options()
        options.webPush = try keys ?? Self.keys()
        return options
    }

    /// The member `webPush` of a registration.
    var webPush: JSON.Value {
        var object = JSON.Object()
        object["endpoint"] = .string(endpoint)
        object["keys"] = ["p256dh": .string(Self.publicKey), "auth": .string(Self.auth)]
        object["page"] = page.map { .string($0) }
        return .object(object)
    }

    /// The value that takes the place of a device token.
    var token: String { (try? PushEndpoint(endpoint))?.identity ?? "" }

    /// The body of the browser's registration.
    var registration: JSON.Value {
        var object = JSON.Object()
        object["secret"] = .string(RelayFixture.secret)
        object["webPush"] = webPush
        for member in members.object?.members ?? [] { object[member.name] = member.value }
        return .object(object)
    }
}

extension RelayFixture {
    /// Registers a browser; returns the error code, if any.
    @discardableResult
    func register(_ browser: Browser = Browser()) async -> String? {
        await post("/v1/device/register", browser.registration).json["code"]?.string
    }

    /// Registers an app's device.
    func registerApp(_ token: String = "00aa") async {
        _ = await post(
            "/v1/device/register", ["secret": .string(Self.secret), "deviceToken": .string(token)])
    }
}
