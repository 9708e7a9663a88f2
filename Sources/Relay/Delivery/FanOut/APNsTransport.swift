import APNs
import Network
import Programs
import Storage

/// Apple's push service.
struct APNsTransport: PushTransport {
    /// What pushes to an app's devices in one environment have in common.
    struct Headers {
        let topic: Topic
        /// For the per-device limits.
        let limitKey: FoldedBundleID
        let attempt: Attempt
        /// `apns-expiration`.
        let expiration: UInt64
        /// The app's style.
        let style: PushStyle
    }

    private let content: any PushContent
    private let services: LoopServices
    private let now: EpochMilliseconds
    /// The secret's unread items, if they are known.
    private let unread: Int?
    /// The previous push's notification.
    private var last: (style: PushStyle, topic: Topic, notification: Notification)?
    private var payloads: [(style: PushStyle, payload: [UInt8])] = []

    /// Creates pushes of a content; `now` is later than the time at which the devices were read.
    init(_ content: any PushContent, _ services: LoopServices, at now: EpochMilliseconds, unread: Int?) {
        self.content = content
        self.services = services
        self.now = now
        self.unread = unread
    }

    func address(of device: Device) -> DeviceToken? { DeviceToken(device.token) }

    func haveSameHeaders(_ device: Device, _ other: Device) -> Bool {
        device.bundleID == other.bundleID && device.environment == other.environment
    }

    func headers(for device: Device) -> TransportHeaders<Headers> {
        switch services.app(of: device.bundleID, in: device.environment) {
        case .none(let reason): .none(reason: reason)
        case .app(let app, let topic):
            .found(
                Headers(
                    topic: topic, limitKey: FoldedBundleID(device.bundleID),
                    attempt: services.firstAttempt(to: device, of: app, at: now),
                    expiration: expiration(content.timeToLive ?? app.push.timeToLive),
                    style: PushStyle(
                        sound: app.push.sound, unreadBadge: content.hasUnreadBadge ? unread : nil)))
        }
    }

    func style(of headers: Headers) -> PushStyle { headers.style }

    func limitKey(of address: DeviceToken, _ headers: Headers) -> DeviceKey {
        DeviceKey(address, headers.limitKey)
    }

    mutating func item(to address: DeviceToken, _ headers: Headers, _ style: PushStyle) -> FanOut.Item {
        let push = Push(notification(style, headers), to: address, id: services.makeID(at: now).text)
        return FanOut.Item(push: push, attempt: headers.attempt)
    }

    /// `apns-expiration` of a push created now, in seconds since 1970; 0 means one attempt.
    private func expiration(_ timeToLive: Duration) -> UInt64 {
        timeToLive == .zero ? 0 : UInt64(max(0, now + timeToLive.inMilliseconds) / 1000)
    }

    private mutating func notification(_ style: PushStyle, _ headers: Headers) -> Notification {
        if let last, last.style == style, last.topic == headers.topic,
            last.notification.expiration == headers.expiration
        {
            return last.notification
        }
        let notification = Notification(
            topic: headers.topic, pushType: content.pushType, priority: content.priority,
            expiration: headers.expiration, collapseID: content.collapseID, payload: payload(style))
        last = (style, headers.topic, notification)
        return notification
    }

    /// The payload in a style; there are few styles.
    private mutating func payload(_ style: PushStyle) -> [UInt8] {
        if let found = payloads.first(where: { $0.style == style }) { return found.payload }
        let payload = content.payload(style)
        payloads.append((style, payload))
        return payload
    }
}
