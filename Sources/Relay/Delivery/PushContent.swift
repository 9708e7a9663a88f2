import APNs
import Storage

/// The content to push to a secret's devices: the parts of a push that don't depend on the device.
protocol PushContent: Sendable {
    /// `apns-push-type`.
    var pushType: PushType { get }
    /// `apns-priority`.
    var priority: Priority { get }
    /// `apns-collapse-id`.
    var collapseID: CollapseID? { get }
    /// How long APNs stores the pushes; `nil` for the app's setting.
    var timeToLive: Duration? { get }
    /// The event type or the notification's kind, which devices can opt out of; `nil` if it has none.
    var kind: String? { get }
    /// Whether it consists only of a sound.
    var isSoundAlone: Bool { get }
    /// Its type in the delivery log.
    var logType: String { get }
    /// Its session, for the delivery log.
    var sessionID: String { get }
    /// The parts that the secret's history keeps; `nil` if there is nothing to read.
    var history: HistoryContent? { get }
    /// Whether its badge is the number of unread items.
    var hasUnreadBadge: Bool { get }

    /// The payload in this style, at most ``Notification/payloadBytesMax`` bytes.
    func payload(_ style: PushStyle) -> [UInt8]
}

extension PushContent {
    /// Its type in the delivery log; pushes to Live Activities have a prefix there.
    func logType(isActivity: Bool) -> String { isActivity ? Delivery.activityPrefix + logType : logType }
}

/// The parts of a push that only the history keeps.
struct HistoryContent: Sendable {
    var serverID: String?
    /// The readable title, as sent.
    var title: String?
    /// The readable text, as sent.
    var body: String?
    /// The encrypted content, as sent.
    var sealed: String?
}

/// The parts of a payload that depend on the app and the device's preferences; equal for most devices of an event.
struct PushStyle: Hashable, Sendable {
    /// The app's sound.
    var sound: String?
    /// Whether to deliver without lighting up the screen.
    var isQuiet = false
    /// The number of unread items, where the device or the content wants it as the badge.
    var unreadBadge: Int?
}
