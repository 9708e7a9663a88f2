import APNs
import JSON
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
    /// Whether it is a notification with a text.
    var showsText: Bool { get }
    /// Its type in the delivery log.
    var logType: String { get }
    /// Its session, for the delivery log.
    var sessionID: String { get }
    /// The parts that the secret's history keeps; `nil` if there is nothing to read.
    var history: HistoryContent? { get }
    /// Whether its badge is the number of unread items.
    var hasUnreadBadge: Bool { get }
    /// Whether devices are notified; if not, it only concerns Live Activities.
    var rings: Bool { get }
    /// The state for the session's Live Activities; `nil` if it has none.
    var activity: ActivityContent? { get }
    /// The actions that replies may have; any if it is empty.
    var actions: [String] { get }
    /// The members of the request that says the same, without its secret; `nil` if it is never sent later.
    var stored: StoredContent? { get }

    /// A digest of the content and how it is sent; requests with one `eventID` must agree in it.
    ///
    /// - Parameters:
    ///   - device: The only recipient; `nil` for all devices.
    ///   - repetition: How it is repeated, if it is.
    func digest(to device: DeviceToken?, repetition: String?) -> Digest256

    /// The payload in this style, at most ``Notification/payloadBytesMax`` bytes.
    func payload(_ style: PushStyle) -> [UInt8]
}

extension PushContent {
    var rings: Bool { true }
    var activity: ActivityContent? { nil }
    var actions: [String] { [] }
    var stored: StoredContent? { nil }

    /// Whether it is a notification that people see.
    var isAlert: Bool { pushType == .alert }

    /// The kind of token that it goes to; `nil` for a device's own token.
    var tokenKind: PushTokenKind? {
        switch pushType {
        case .widgets: .widgets
        case .controls: .controls
        default: nil
        }
    }

    /// Its type in the delivery log; pushes to Live Activities have a prefix there.
    func logType(isActivity: Bool) -> String { isActivity ? Delivery.activityPrefix + logType : logType }
}

/// A content as it is stored for sending later.
struct StoredContent: Sendable, Equatable {
    /// The request's route.
    enum Target: String, Sendable {
        case event, notify
    }

    let target: Target
    /// The members of the request's body.
    let body: JSON.Object
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
