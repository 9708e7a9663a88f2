import APNs

/// What is to be pushed to the devices of a secret: the parts of a push that are not the device's.
protocol PushContent: Sendable {
    /// `apns-push-type`.
    var pushType: PushType { get }
    /// `apns-priority`.
    var priority: Priority { get }
    /// `apns-collapse-id`.
    var collapseID: CollapseID? { get }
    /// How long APNs keeps the pushes; `nil` is as long as the app's setting says.
    var timeToLive: Duration? { get }
    /// The event's type, which devices may not want; `nil` for what is no event.
    var eventType: EventType? { get }
    /// Whether nothing would be left of it without its sound.
    var isSoundAlone: Bool { get }
    /// What the delivery log calls it.
    var logType: String { get }
    /// The session that it is about, for the delivery log.
    var sessionID: String { get }

    /// The body of the pushes of a style, at most ``Notification/payloadBytesMax`` bytes.
    func payload(_ style: PushStyle) -> [UInt8]
}

/// What of a payload depends on the app and on the device's wishes; the same for most devices of an event.
struct PushStyle: Hashable, Sendable {
    /// The app's sound.
    var sound: String?
    /// Delivered without lighting up the screen.
    var isQuiet = false
}
