import APNs
import Storage

/// Makes the pushes of one fan-out.
///
/// Most devices of a secret have the same app and environment: what that decides is looked up once for all that follow
/// one another.
struct PushMaker {
    /// What becomes of the pushes to a bundle identifier's devices in one environment.
    private enum Way {
        case app(Common)
        case none(reason: String)
    }

    /// What such pushes have in common.
    private struct Common {
        let topic: Topic
        let attempt: DeliveryAttempt
        /// `apns-expiration`.
        let expiration: UInt64
        /// The style of a push to a device without preferences.
        let style: PushStyle
    }

    private let content: any PushContent
    private let services: LoopServices
    private let now: EpochMilliseconds
    /// That of the device before.
    private var last: (bundleID: String, environment: DeviceEnvironment, way: Way)
    private var payloads: [(style: PushStyle, payload: [UInt8])] = []

    /// A maker of pushes to devices that were read before a time.
    init(_ content: any PushContent, _ services: LoopServices, at now: EpochMilliseconds) {
        self.content = content
        self.services = services
        self.now = now
        last = ("", .production, .none(reason: FanOut.invalidRegistration))
    }

    /// The push to a device, or why there is none.
    mutating func item(for device: Device) -> FanOut.Item {
        guard let token = DeviceToken(device.token) else {
            return Self.item(.failed(reason: FanOut.invalidRegistration))
        }
        if last.bundleID != device.bundleID || last.environment != device.environment {
            last = (device.bundleID, device.environment, way(to: device))
        }
        switch last.way {
        case .none(let reason): return Self.item(.failed(reason: reason))
        case .app(let common):
            guard let style = style(for: device, common.style) else { return Self.item(.muted) }
            let push = Push(
                deviceToken: token, topic: common.topic, pushType: content.pushType,
                priority: content.priority, expiration: common.expiration, id: services.makeID().text,
                collapseID: content.collapseID, payload: payload(style))
            return FanOut.Item(push: push, attempt: common.attempt)
        }
    }

    private static func item(_ result: DeviceResult.Status) -> FanOut.Item {
        FanOut.Item(push: nil, phase: .ended(result))
    }

    private func way(to device: Device) -> Way {
        switch services.destination(of: device.bundleID, in: device.environment) {
        case .none(let reason): .none(reason: reason)
        case .app(let app, let topic):
            .app(
                Common(
                    topic: topic, attempt: services.firstAttempt(to: device, of: app, at: now),
                    expiration: expiration(content.timeToLive ?? app.push.timeToLive),
                    style: PushStyle(sound: app.push.sound)))
        }
    }

    /// The style in which a device wants it now; `nil` when it doesn't want it.
    private func style(for device: Device, _ usual: PushStyle) -> PushStyle? {
        guard let preferences = device.details.preferences else { return usual }
        let zones = services.rules.timeZones
        switch DevicePreferences(stored: preferences).wish(for: content.eventType, at: now, zone: zones.zone)
        {
        case .normal: return usual
        case .muted: return nil
        case .quiet: return content.isSoundAlone ? nil : PushStyle(sound: usual.sound, isQuiet: true)
        }
    }

    /// `apns-expiration` of a push that is made now: seconds since 1970; 0 is one attempt.
    private func expiration(_ timeToLive: Duration) -> UInt64 {
        timeToLive == .zero ? 0 : UInt64(max(0, now + timeToLive.inMilliseconds) / 1000)
    }

    /// The payload of a style; there are few of them.
    private mutating func payload(_ style: PushStyle) -> [UInt8] {
        if let found = payloads.first(where: { $0.style == style }) { return found.payload }
        let payload = content.payload(style)
        payloads.append((style, payload))
        return payload
    }
}
