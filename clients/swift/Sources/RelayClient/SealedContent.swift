#if canImport(UserNotifications) && !os(tvOS)
public import PushSealing
public import UserNotifications

extension UNMutableNotificationContent {
    /// Replaces the visible content with that of an opened message.
    public func show(_ message: SealedMessage) {
        title = message.title ?? ""
        subtitle = message.properties.subtitle ?? ""
        body = message.body ?? ""
        if let category = message.properties.category { categoryIdentifier = category }
        // Lets a push that clears the event find the notification: the visible payload doesn't contain a sealed event's
        // ID.
        userInfo["eventID"] = message.id
        if let thread = message.properties.threadID { threadIdentifier = thread }
        if let badge = message.properties.badge { self.badge = NSNumber(value: badge) }
        switch message.properties.sound {
        case nil: break
        case "default": sound = .default
        case let name?: sound = UNNotificationSound(named: UNNotificationSoundName(rawValue: name))
        }
        switch message.properties.interruptionLevel {
        case "passive": interruptionLevel = .passive
        case "active": interruptionLevel = .active
        case "time-sensitive": interruptionLevel = .timeSensitive
        default: break
        }
    }
}

/// Does the work of a notification service extension: opens the push, or leaves its visible text, and calls back once.
///
/// Keep one per request: call ``open(with:)`` from `didReceive`, and ``deliver()`` from
/// `serviceExtensionTimeWillExpire`.
public final class SealedNotification: @unchecked Sendable {  // why: the lock guards what changes
    private let lock = NSLock()
    private var callBack: ((UNNotificationContent) -> Void)?
    private let original: UNNotificationContent

    /// Creates the notification for a request, with the function to which its content is passed.
    public init(_ request: UNNotificationRequest, _ callBack: @escaping (UNNotificationContent) -> Void) {
        original = request.content
        self.callBack = callBack
    }

    /// Opens the push and shows it; if the key is missing or can't be read yet, shows the visible text.
    public func open(with reader: PushReader?) {
        guard case .opened(let message, _)? = reader?.read(PushPayload(original.userInfo)),
            let content = original.mutableCopy() as? UNMutableNotificationContent
        else { return deliver() }
        content.show(message)
        deliver(content)
    }

    /// Shows the visible text, unless something was already shown; call this when the time expires.
    public func deliver() { deliver(original) }

    private func deliver(_ content: UNNotificationContent) {
        let callBack = lock.withLock { () -> ((UNNotificationContent) -> Void)? in
            defer { self.callBack = nil }
            return self.callBack
        }
        callBack?(content)
    }
}

extension PushPayload {
    /// Removes the delivered notification that this push clears, if it clears one; call it for silent pushes.
    public func removeClearedNotification() {
        guard let eventID = clearedEventID else { return }
        UNUserNotificationCenter.current().getDeliveredNotifications { delivered in
            let requests = delivered.map(\.request)
            let cleared = requests.filter { PushPayload($0.content.userInfo).eventID == eventID }
            UNUserNotificationCenter.current().removeDeliveredNotifications(
                withIdentifiers: cleared.map(\.identifier))
        }
    }
}

extension NotificationCategory {
    /// The category for `UNUserNotificationCenter.setNotificationCategories`.
    public var userNotificationCategory: UNNotificationCategory {
        let actions = actions.map { action -> UNNotificationAction in
            var options: UNNotificationActionOptions = []
            if action.needsUnlock { options.insert(.authenticationRequired) }
            if action.opensApp { options.insert(.foreground) }
            if action.isDestructive { options.insert(.destructive) }
            if let input = action.input {
                return UNTextInputNotificationAction(
                    identifier: action.id, title: action.title, options: options,
                    textInputButtonTitle: input.button, textInputPlaceholder: input.placeholder)
            }
            return UNNotificationAction(identifier: action.id, title: action.title, options: options)
        }
        return UNNotificationCategory(identifier: id, actions: actions, intentIdentifiers: [])
    }
}
#endif
