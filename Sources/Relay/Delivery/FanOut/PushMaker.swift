import APNs
import Network
import Programs
import Storage

/// Creates the pushes of one fan-out: decides which devices get one, when, in which style and by which route.
///
/// Most devices of a secret are similar, so their common parts are looked up once per run of similar devices.
struct PushMaker {
    /// The common parts of pushes to an app's devices in one environment.
    private struct Headers {
        let topic: Topic
        /// The app as the per-device limits identify it.
        let limitKey: FoldedBundleID
        /// The attempt; `nil` if devices get their pushes by Web Push.
        let attempt: Attempt?
        /// `apns-expiration`.
        let expiration: UInt64
        /// The style for devices without preferences.
        let style: PushStyle
    }

    private enum Match {
        case found(Headers)
        /// There is no push; `reason` is for the response and the log.
        case none(reason: String)
    }

    private let recipients: Recipients
    private let content: any PushContent
    private let services: LoopServices
    private let now: EpochMilliseconds
    /// The number of the secret's unread items, if it is known.
    private let unread: Int?
    private let mayHold: Bool
    /// The `id`s of devices that have reached their frequency limit.
    private let full: Set<String>
    /// The devices whose pushes wait for the end of quiet hours, each with that time.
    private(set) var held: [(index: Int, until: EpochMilliseconds)] = []
    /// The previous device's headers.
    private var last: (index: Int, match: Match)?
    /// The previous push's notification.
    private var lastMade: (style: PushStyle, topic: Topic, notification: Notification)?
    private var payloads: [(style: PushStyle, payload: [UInt8])] = []

    /// Prepares to create pushes to these devices, which were read before `now`.
    init(
        _ recipients: Recipients, _ content: any PushContent, _ services: LoopServices,
        at now: EpochMilliseconds, unread: Int? = nil, mayHold: Bool = false, full: Set<String> = []
    ) {
        self.recipients = recipients
        self.content = content
        self.services = services
        self.now = now
        self.unread = unread
        self.mayHold = mayHold
        self.full = full
    }

    /// The push to a device, or why there is none; the argument is an index so that the device isn't copied.
    mutating func item(_ index: Int) -> FanOut.Item {
        guard let token = DeviceToken(recipients.devices[index].token) else {
            return Self.item(.failed(reason: FailureReason.invalidRegistration))
        }
        switch match(index) {
        case .none(let reason): return Self.item(.failed(reason: reason))
        case .found(let headers):
            // Browsers don't allow pushes that show nothing.
            guard headers.attempt != nil || content.showsText else { return Self.item(.muted) }
            let style: PushStyle
            switch way(for: index, headers.style) {
            case .now(let wanted): style = wanted
            case .muted: return Self.item(.muted)
            case .at(let time):
                held.append((index, time))
                return Self.item(.queued(reason: FailureReason.quietHours))
            }
            guard let route = route(to: index, headers) else {
                return Self.item(.failed(reason: FailureReason.invalidRegistration))
            }
            // Counted only here: a retry was counted when the push was created.
            guard
                services.shared.rates.takePush(
                    to: DeviceKey(token, headers.limitKey), at: services.loop.now)
            else {
                return Self.item(.failed(reason: FailureReason.deviceRateLimited))
            }
            let push = Push(notification(style, headers), to: token, id: services.makeID(at: now).text)
            return FanOut.Item(push: push, route: route)
        }
    }

    private static func item(_ result: DeviceResult.Status) -> FanOut.Item {
        FanOut.Item(push: nil, phase: .ended(result))
    }

    // MARK: Routes

    private mutating func match(_ index: Int) -> Match {
        if let last, areSimilar(index, last.index) { return last.match }
        let match = newMatch(index)
        last = (index, match)
        return match
    }

    private func areSimilar(_ index: Int, _ other: Int) -> Bool {
        recipients.devices[index].bundleID == recipients.devices[other].bundleID
            && recipients.devices[index].environment == recipients.devices[other].environment
            && recipients.devices[index].transport == recipients.devices[other].transport
    }

    private func newMatch(_ index: Int) -> Match {
        let device = recipients.devices[index]
        let unread = content.hasUnreadBadge ? unread : nil
        guard device.transport == .apns else {
            guard services.webPushSender != nil else { return .none(reason: FailureReason.webPushOff) }
            let push = PushSettings()
            return .found(
                Headers(
                    topic: WebPushDevice.topic, limitKey: FoldedBundleID(device.bundleID), attempt: nil,
                    expiration: expiration(content.timeToLive ?? push.timeToLive),
                    style: PushStyle(sound: push.sound, unreadBadge: unread)))
        }
        switch services.app(of: device.bundleID, in: device.environment) {
        case .none(let reason): return .none(reason: reason)
        case .app(let app, let topic):
            return .found(
                Headers(
                    topic: topic, limitKey: FoldedBundleID(device.bundleID),
                    attempt: services.firstAttempt(to: device, of: app, at: now),
                    expiration: expiration(content.timeToLive ?? app.push.timeToLive),
                    style: PushStyle(sound: app.push.sound, unreadBadge: unread)))
        }
    }

    private func route(to index: Int, _ headers: Headers) -> PushRoute? {
        if let attempt = headers.attempt { return .apns(attempt) }
        return recipients.devices[index].details.webPush.flatMap(WebPushDevice.init(stored:)).map { device in
            .webPush(WebPushRoute(device, of: recipients.devices[index].secretHash, at: now))
        }
    }

    /// `apns-expiration` of a push created now, in seconds since 1970; 0 means one attempt.
    private func expiration(_ timeToLive: Duration) -> UInt64 {
        timeToLive == .zero ? 0 : UInt64(max(0, now + timeToLive.inMilliseconds) / 1000)
    }

    // MARK: Preferences

    /// The effect of a device's preferences on a push.
    private enum Delivery {
        case now(PushStyle)
        case at(EpochMilliseconds)
        case muted
    }

    private func way(for index: Int, _ usual: PushStyle) -> Delivery {
        guard !recipients.preferences.isEmpty else { return .now(usual) }
        guard !content.isAlert || !recipients.areLooking(content.kind, at: now) else { return .muted }
        guard !full.contains(recipients.devices[index].id) else { return .muted }
        let wanted = recipients.preferences(index)
        var style = usual
        if wanted.badge == .unread { style.unreadBadge = unread }
        switch wanted.wish(for: content.kind, at: now, zone: services.zone) {
        case .normal: break
        case .muted: return .muted
        case .quiet(let until):
            guard !content.isSoundAlone else { return .muted }
            if let until, mayHold, content.isAlert { return .at(until) }
            style.isQuiet = true
        }
        return .now(style)
    }

    // MARK: Notifications

    private mutating func notification(_ style: PushStyle, _ headers: Headers) -> Notification {
        if let lastMade, lastMade.style == style, lastMade.topic == headers.topic,
            lastMade.notification.expiration == headers.expiration
        {
            return lastMade.notification
        }
        let notification = Notification(
            topic: headers.topic, pushType: content.pushType, priority: content.priority,
            expiration: headers.expiration, collapseID: content.collapseID, payload: payload(style))
        lastMade = (style, headers.topic, notification)
        return notification
    }

    /// The payload in a style; all payloads are kept, because there are few styles.
    private mutating func payload(_ style: PushStyle) -> [UInt8] {
        if let found = payloads.first(where: { $0.style == style }) { return found.payload }
        let payload = content.payload(style)
        payloads.append((style, payload))
        return payload
    }
}
