import Network
import Storage
import WebPush

/// Sends a single Web Push message, with the same sender as `relay serve`.
struct WebPushProbe: Sendable {
    private let keys: WebPushKeys
    private let settings: SenderSettings

    /// `nil` if no key is configured or stored.
    init?(_ configuration: WebPushConfiguration, stored: VAPIDKey?) {
        guard let keys = configuration.keys(stored: stored) else { return nil }
        self.keys = keys
        settings = configuration.senderSettings
    }

    /// Sends a payload to a device and reports the push service's response.
    func send(
        _ payload: [UInt8], to device: Device, _ subject: String, on loop: EventLoop
    ) async -> CheckFinding {
        guard let parsed = device.details.webPush.flatMap(WebPushDevice.init(stored:)),
            let message = WebPushPayload(payload, page: parsed.page)
        else {
            return .fault(.deviceTokenBad, .send, subject, "the registration can't be read", status: .failed)
        }
        guard let key = keys[parsed.keyID] else {
            return .fault(
                .lastPushFailed, .send, subject, "it subscribed with a key that the relay doesn't have",
                status: .failed, advice: Self.subscribeAnew)
        }
        let push = Push(
            Message(payload: message.bytes(), handling: Handling(timeToLive: 60, urgency: .high)),
            to: parsed.subscription, key: key)
        let outcome = await loop.run { [keys, settings] loop in
            let sender = Sender(tokens: keys.tokens, hosts: keys.hosts, on: loop, settings: settings)
            let outcome = await sender.send(push)
            await sender.stop(deadline: Bounds.apnsClosingDeadline)
            return outcome
        }
        switch outcome {
        case .accepted:
            return .ok(
                .send, subject, "the push service accepted a test push: the browser shows it if it is on")
        case .rejected(let rejection):
            let text = "the push service answers \(rejection.status) \(rejection.name)"
            let (fault, advice): (CheckFault, String) =
                switch rejection.kind {
                case .gone: (.deviceUnregistered, Self.subscribeAnew)
                case .wrongKey: (.unexpectedAnswer, Self.subscribeAnew)
                case .later: (.noAnswer, "The relay queues pushes and retries them.")
                case .configuration: (.unexpectedAnswer, "Check RELAY_VAPID_SUBJECT and the clock.")
                case .tooLarge, .refused: (.unexpectedAnswer, "Check whether the endpoint is a push service.")
                }
            return .fault(fault, .send, subject, text, status: .failed, advice: advice)
        case .unreachable(let unreachable):
            return .fault(
                .noAnswer, .send, subject, "no response: \(unreachable.cause.rawValue)", status: .failed,
                advice: "Check that this machine can connect to the push service, and RELAY_WEBPUSH_HOSTS.")
        }
    }

    private static let subscribeAnew = "The browser must subscribe again: open the page."
}
