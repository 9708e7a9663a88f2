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
    /// The event type or the notification's kind, which devices can opt out of; `nil` if there is none.
    var kind: String? { get }
    /// Whether the push consists only of a sound.
    var isSoundAlone: Bool { get }
    /// Whether the push is a notification with text.
    var showsText: Bool { get }
    /// The push's type in the delivery log.
    var logType: String { get }
    /// The push's session, for the delivery log.
    var sessionID: String { get }
    /// The parts that the secret's history keeps; `nil` if the push contains nothing to read.
    var history: HistoryContent? { get }
    /// Whether the push's badge is the number of unread items.
    var hasUnreadBadge: Bool { get }
    /// Whether devices are notified; if not, the content only concerns Live Activities.
    var rings: Bool { get }
    /// The state for the session's Live Activities; `nil` if the content has none.
    var activity: ActivityContent? { get }
    /// The actions that replies may contain; empty if any action is allowed.
    var actions: [String] { get }
    /// The members of an equivalent request, without its secret; `nil` if the content is never sent later.
    var stored: StoredContent? { get }

    /// A digest of the content and how it is sent; requests with the same `eventID` must have the same digest.
    ///
    /// - Parameters:
    ///   - device: The only recipient; `nil` for all devices.
    ///   - repetition: How the push is repeated, if it is.
    func digest(to device: DeviceToken?, repetition: String?) -> Digest256

    /// The payload in this style, at most ``Notification/payloadBytesMax`` bytes.
    func payload(_ style: PushStyle) -> [UInt8]
}

extension PushContent {
    var rings: Bool { true }
    var activity: ActivityContent? { nil }
    var actions: [String] { [] }
    var stored: StoredContent? { nil }

    /// Whether the push is a notification that people see.
    var isAlert: Bool { pushType == .alert }

    /// The kind of token that the push goes to; `nil` for a device's own token.
    var tokenKind: PushTokenKind? {
        switch pushType {
        case .widgets: .widgets
        case .controls: .controls
        default: nil
        }
    }

    /// The push's type in the delivery log, where pushes to Live Activities have a prefix.
    func logType(isActivity: Bool) -> String { isActivity ? Delivery.activityPrefix + logType : logType }
}

/// Content as it is stored to be sent later.
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
    /// The unencrypted title, as sent.
    var title: String?
    /// The unencrypted text, as sent.
    var body: String?
    /// The encrypted content, as sent.
    var sealed: String?
}

/// The parts of a payload that depend on the app and the device's preferences; the same for most devices of an event.
struct PushStyle: Hashable, Sendable {
    /// The app's sound.
    var sound: String?
    /// Whether to deliver without lighting up the screen.
    var isQuiet = false
    /// The number of unread items, if the device or the content wants it as the badge.
    var unreadBadge: Int?
}
