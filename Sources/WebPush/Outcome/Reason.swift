/// A push service's reason for a refusal: the known reasons of all services.
///
/// A closed set, because responses come from hosts that users choose: their text isn't passed on.
package enum Reason: String, Hashable, Sendable, CaseIterable {
    // Apple: `reason` in JSON. Source: "Sending web push notifications in web apps and browsers".
    case badAuthorizationHeader = "BadAuthorizationHeader"
    case badJwtToken = "BadJwtToken"
    case badPath = "BadPath"
    case badTtl = "BadTtl"
    case badUrgency = "BadUrgency"
    case badVapidPublicKey = "BadVapidPublicKey"
    case badWebPushRequest = "BadWebPushRequest"
    case badWebPushTopic = "BadWebPushTopic"
    case payloadTooLarge = "PayloadTooLarge"
    case shutdown = "Shutdown"
    case tooManyRequests = "TooManyRequests"
    case vapidPkHashMismatch = "VapidPkHashMismatch"

    // Mozilla: `errno` in JSON (autopush-rs, autoendpoint/src/error.rs).
    case invalidEndpoint = "InvalidEndpoint"
    case subscriptionExpired = "SubscriptionExpired"
    case vapidRefused = "VapidRefused"
    case badEncryption = "BadEncryption"
    case badTopic = "BadTopic"
    case serviceBusy = "ServiceBusy"
    case bridgeFailed = "BridgeFailed"

    // ntfy, and Microsoft's throttling.
    case noSubscriber = "NoSubscriber"
    case throttled = "Throttled"
}
