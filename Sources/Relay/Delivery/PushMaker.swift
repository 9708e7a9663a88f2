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

    private let devices: [Device]
    private let content: any PushContent
    private let services: LoopServices
    private let now: EpochMilliseconds
    /// That of the device before.
    private var last: (bundleID: String, environment: DeviceEnvironment, way: Way)
    /// That of the push before, unless the way is another one since.
    private var notification: (style: PushStyle, made: Notification)?
    private var payloads: [(style: PushStyle, payload: [UInt8])] = []

    /// A maker of pushes to devices that were read before a time.
    init(
        _ devices: [Device], _ content: any PushContent, _ services: LoopServices, at now: EpochMilliseconds
    ) {
        self.devices = devices
        self.content = content
        self.services = services
        self.now = now
        last = ("", .production, .none(reason: FanOut.invalidRegistration))
    }

    /// The push to a device, named by its index so that it isn't copied, or why there is none.
    mutating func item(_ index: Int) -> FanOut.Item {
        guard let token = DeviceToken(devices[index].token) else {
            return Self.item(.failed(reason: FanOut.invalidRegistration))
        }
        if last.bundleID != devices[index].bundleID || last.environment != devices[index].environment {
            last = (devices[index].bundleID, devices[index].environment, way(to: devices[index]))
            notification = nil
        }
        switch last.way {
        case .none(let reason): return Self.item(.failed(reason: reason))
        case .app(let common):
            guard let style = style(for: index, common.style) else { return Self.item(.muted) }
            let push = Push(notification(style, common), to: token, id: services.makeID(at: now).text)
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
    private func style(for index: Int, _ usual: PushStyle) -> PushStyle? {
        guard let preferences = devices[index].details.preferences else { return usual }
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

    private mutating func notification(_ style: PushStyle, _ common: Common) -> Notification {
        if let notification, notification.style == style { return notification.made }
        let made = Notification(
            topic: common.topic, pushType: content.pushType, priority: content.priority,
            expiration: common.expiration, collapseID: content.collapseID, payload: payload(style))
        notification = (style, made)
        return made
    }

    /// The payload of a style; there are few of them.
    private mutating func payload(_ style: PushStyle) -> [UInt8] {
        if let found = payloads.first(where: { $0.style == style }) { return found.payload }
        let payload = content.payload(style)
        payloads.append((style, payload))
        return payload
    }
}
