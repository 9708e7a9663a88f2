/// One notification for one device: what a request to APNs says.
///
/// Source: Apple, "Sending notification requests to APNs". The types of its parts leave nothing in it that could
/// break a header or a path.
package struct Push: Sendable {
    /// Whom it is for; `:path` is `/3/device/` and this.
    package let deviceToken: DeviceToken
    /// `apns-id`: a UUID in its canonical lower-case form, the same on every retry of the push.
    package let id: String
    /// What it says.
    package let notification: Notification

    /// A push of its parts.
    package init(_ notification: Notification, to deviceToken: DeviceToken, id: String) {
        self.notification = notification
        self.deviceToken = deviceToken
        self.id = id
    }
}

/// What pushes to any number of devices have in common.
///
/// An object, so that each of them refers to it and none has a copy.
package final class Notification: Sendable {
    /// `apns-topic`.
    package let topic: Topic
    /// `apns-push-type`; must agree with the payload.
    package let pushType: PushType
    /// `apns-priority`.
    package let priority: Priority
    /// `apns-expiration`: seconds since 1970 until which APNs keeps trying; 0 is one attempt.
    package let expiration: UInt64
    /// `apns-collapse-id`.
    package let collapseID: CollapseID?
    /// The body, JSON of at most ``payloadBytesMax`` bytes.
    package let payload: [UInt8]

    /// APNs' bound for all push types but `voip`.
    package static let payloadBytesMax = 4_096

    /// A notification of its parts.
    package init(
        topic: Topic, pushType: PushType = .alert, priority: Priority = .immediate, expiration: UInt64,
        collapseID: CollapseID? = nil, payload: [UInt8]
    ) {
        self.topic = topic
        self.pushType = pushType
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
        self.payload = payload
    }
}

/// APNs' push types; the raw value is the header's text.
package enum PushType: String, Hashable, Sendable, CaseIterable {
    case alert
    case background
    case complication
    case controls
    case fileprovider
    case liveactivity
    case location
    case mdm
    case pushtotalk
    case voip
    case widgets
}

/// APNs' priorities; the raw value is the header's number.
package enum Priority: Int, Hashable, Sendable, CaseIterable {
    /// Power above all; never wakes the device.
    case low = 1
    /// When the device's power allows.
    case considerate = 5
    /// At once.
    case immediate = 10

    /// The header's text.
    package var text: String {
        switch self {
        case .low: "1"
        case .considerate: "5"
        case .immediate: "10"
        }
    }
}
