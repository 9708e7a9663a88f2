import APNs
import Network
import Storage

/// Creates the pushes of one fan-out.
///
/// Most devices of a secret share app and environment, so what depends on them is looked up once per run of
/// equal devices.
struct PushMaker {
    /// How to push to a bundle ID's devices in one environment.
    private enum Way {
        case app(Common)
        case none(reason: String)
    }

    /// The common parts of these pushes.
    private struct Common {
        let topic: Topic
        /// For the per-device limits.
        let limitKey: FoldedBundleID
        let attempt: DeliveryAttempt
        /// `apns-expiration`.
        let expiration: UInt64
        /// The style for devices without preferences.
        let style: PushStyle
    }

    private let recipients: Recipients
    private let content: any PushContent
    private let services: LoopServices
    private let now: EpochMilliseconds
    /// The secret's unread items, if they are known.
    private let unread: Int?
    private let mayHold: Bool
    /// The `id`s of devices that want no more pushes for now.
    private let full: Set<String>
    /// The devices whose push waits for the end of their quiet hours, and until when.
    private(set) var held: [(index: Int, until: EpochMilliseconds)] = []
    /// The previous device's lookup.
    private var last: (bundleID: String, environment: DeviceEnvironment, way: Way)
    /// The previous push's notification, unless the lookup changed since.
    private var notification: (style: PushStyle, made: Notification)?
    private var payloads: [(style: PushStyle, payload: [UInt8])] = []

    /// Creates pushes to these devices; `now` is later than the time at which they were read.
    init(
        _ recipients: Recipients, _ content: any PushContent, _ services: LoopServices,
        at now: EpochMilliseconds, unread: Int? = nil, mayHold: Bool = false, full: Set<String> = []
    ) {
        self.mayHold = mayHold
        self.full = full
        self.unread = unread
        self.recipients = recipients
        self.content = content
        self.services = services
        self.now = now
        last = ("", .production, .none(reason: FailureReason.invalidRegistration))
    }

    /// The push to a device, or why there is none; takes an index so that the device isn't copied.
    mutating func item(_ index: Int) -> FanOut.Item {
        let devices = recipients.devices
        guard let token = DeviceToken(devices[index].token) else {
            return Self.item(.failed(reason: FailureReason.invalidRegistration))
        }
        if last.bundleID != devices[index].bundleID || last.environment != devices[index].environment {
            last = (devices[index].bundleID, devices[index].environment, way(to: devices[index]))
            notification = nil
        }
        switch last.way {
        case .none(let reason): return Self.item(.failed(reason: reason))
        case .app(let common):
            let style: PushStyle
            switch way(for: index, common.style) {
            case .now(let wanted): style = wanted
            case .muted: return Self.item(.muted)
            case .at(let time):
                held.append((index, time))
                return Self.item(.queued(reason: FailureReason.quietHours))
            }
            // Counted only here: a retry was counted when the push was created.
            let device = DeviceKey(token, common.limitKey)
            guard services.shared.rates.takePush(to: device, at: services.loop.now) else {
                return Self.item(.failed(reason: FailureReason.deviceRateLimited))
            }
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
                    topic: topic, limitKey: FoldedBundleID(device.bundleID),
                    attempt: services.firstAttempt(to: device, of: app, at: now),
                    expiration: expiration(content.timeToLive ?? app.push.timeToLive),
                    style: PushStyle(
                        sound: app.push.sound, unreadBadge: content.hasUnreadBadge ? unread : nil)))
        }
    }

    /// The effect of a device's preferences on a push.
    private enum Delivery {
        case now(PushStyle)
        case at(EpochMilliseconds)
        case muted
    }

    private func way(for index: Int, _ usual: PushStyle) -> Delivery {
        guard !recipients.preferences.isEmpty else { return .now(usual) }
        guard !full.contains(recipients.devices[index].id) else { return .muted }
        let wanted = recipients.preferences(index)
        var style = usual
        if wanted.badge == .unread { style.unreadBadge = unread }
        switch wanted.wish(for: content.kind, at: now, zone: services.zone) {
        case .normal: break
        case .muted: return .muted
        case .quiet(let until):
            guard !content.isSoundAlone else { return .muted }
            if let until, mayHold, content.pushType == .alert { return .at(until) }
            style.isQuiet = true
        }
        return .now(style)
    }

    /// `apns-expiration` of a push created now, in seconds since 1970; 0 means one attempt.
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

    /// The payload in a style; there are few styles.
    private mutating func payload(_ style: PushStyle) -> [UInt8] {
        if let found = payloads.first(where: { $0.style == style }) { return found.payload }
        let payload = content.payload(style)
        payloads.append((style, payload))
        return payload
    }
}
