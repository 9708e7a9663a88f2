/// A push: one notification for one device.
///
/// Source: Apple, "Sending notification requests to APNs". The types of its parts exclude text that could break a
/// header or a path.
package struct Push: Sendable {
    /// The target device; `:path` is `/3/device/` and the token.
    package let deviceToken: DeviceToken
    /// `apns-id`: a UUID in canonical lower-case form, the same for every retry of the push.
    package let id: String
    /// The notification's contents.
    package let notification: Notification

    /// Creates a push from its parts.
    package init(_ notification: Notification, to deviceToken: DeviceToken, id: String) {
        self.notification = notification
        self.deviceToken = deviceToken
        self.id = id
    }
}

/// The contents shared by pushes to any number of devices.
///
/// A class, so that pushes share it instead of copying it.
package final class Notification: Sendable {
    /// The app: `apns-topic` without ``PushType/topicSuffix``.
    package let topic: Topic
    /// `apns-push-type`; must agree with the payload.
    package let pushType: PushType
    /// `apns-priority`.
    package let priority: Priority
    /// `apns-expiration`: when APNs stops trying, in seconds since 1970; 0 means a single attempt.
    package let expiration: UInt64
    /// `apns-collapse-id`.
    package let collapseID: CollapseID?
    /// The body, JSON of at most ``payloadBytesMax`` bytes.
    package let payload: [UInt8]

    /// APNs' payload limit, in bytes, for all push types except `voip`.
    package static let payloadBytesMax = 4_096

    /// Creates a notification from its parts.
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

/// APNs' push types; the raw value is the header's value.
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

    /// The suffix of `apns-topic` after the bundle identifier, for the types that this program sends.
    package var topicSuffix: String {
        switch self {
        case .controls, .liveactivity, .widgets: ".push-type." + rawValue
        case .alert, .background, .complication, .fileprovider, .location, .mdm, .pushtotalk, .voip: ""
        }
    }
}

/// APNs' priorities; the raw value is the header's value.
package enum Priority: Int, Hashable, Sendable, CaseIterable {
    /// Prioritises power over delivery and never wakes the device.
    case low = 1
    /// Considers the device's power.
    case conserveDevicePower = 5
    /// Delivers immediately.
    case immediate = 10

    /// The header's value.
    package var text: String {
        switch self {
        case .low: "1"
        case .conserveDevicePower: "5"
        case .immediate: "10"
        }
    }
}
