import APNs
import Network
import Storage
import WebPush

/// One attempt to deliver a push via Web Push: what the policy needs to know.
///
/// This is a class so that a push to APNs carries only a pointer.
final class WebPushRoute: Sendable {
    let device: WebPushDevice
    /// The secret's hash under which the device is registered.
    let secretHash: SecretHash
    /// A time before the first attempt, in milliseconds since 1970; registrations made from then on are new.
    let firstSentAt: EpochMilliseconds
    /// Whether the message is a small one, because the service rejected the usual one as too large.
    let isSmall: Bool

    /// A first attempt.
    init(
        _ device: WebPushDevice, of secretHash: SecretHash, at firstSentAt: EpochMilliseconds,
        isSmall: Bool = false
    ) {
        self.device = device
        self.secretHash = secretHash
        self.firstSentAt = firstSentAt
        self.isSmall = isSmall
    }

    /// The same push with a small message; `nil` if that has been tried already.
    var small: WebPushRoute? {
        isSmall ? nil : WebPushRoute(device, of: secretHash, at: firstSentAt, isSmall: true)
    }

    /// The host and port that the push goes to.
    var host: String { device.subscription.endpoint.authority }
}

/// How a push reaches its device.
enum PushRoute {
    case apns(Attempt)
    case webPush(WebPushRoute)

    /// The route's destination, for the limits on pushes in flight; `nil` if the relay has no key for the
    /// app.
    func destination(_ bundleID: String, _ apps: Apps) -> PushDestination? {
        switch self {
        case .apns(let attempt):
            apps.key(of: bundleID).map { key in
                .apns(APNsHealth.Destination(key: key, environment: attempt.registeredEnvironment))
            }
        case .webPush(let route): .webPush(host: route.host)
        }
    }
}

/// A destination for pushes, which works or fails independently of others.
enum PushDestination: Hashable, Sendable {
    case apns(APNsHealth.Destination)
    /// A push service, by host and port.
    case webPush(host: String)
}
