import APNs

/// The fields that requests have, and what each must be: the other half of the table in docs/API.md.
///
/// Those of an object within a request have its name and a dot before their own.
enum RequestField: String, CaseIterable, Sendable {
    case secret
    case deviceToken
    case bundleID = "bundleId"
    case apnsEnvironment = "apnsEnv"
    case deviceName
    case deviceModel
    case osVersion
    case appVersion
    case preferences
    case preferencesEventTypes = "preferences.eventTypes"
    case quietHours = "preferences.quietHours"
    case quietHoursFrom = "preferences.quietHours.from"
    case quietHoursTo = "preferences.quietHours.to"
    case quietHoursTimeZone = "preferences.quietHours.timeZone"
    case quietHoursAllowPermission = "preferences.quietHours.allowPermission"
    case eventType
    case sessionID
    case serverID
    case title
    case body
    case eventID
    case notification
    case notificationPushType = "notification.pushType"
    case notificationTitle = "notification.title"
    case notificationSubtitle = "notification.subtitle"
    case notificationBody = "notification.body"
    case notificationBadge = "notification.badge"
    case notificationSound = "notification.sound"
    case notificationCategory = "notification.category"
    case notificationThreadID = "notification.threadID"
    case notificationCollapseID = "notification.collapseID"
    case notificationInterruptionLevel = "notification.interruptionLevel"
    case notificationRelevanceScore = "notification.relevanceScore"
    case notificationPriority = "notification.priority"
    case notificationTimeToLive = "notification.ttl"
    case notificationMutableContent = "notification.mutableContent"
    case notificationContentAvailable = "notification.contentAvailable"
    case notificationData = "notification.data"

    /// Whether it is a text for people, which no program compares.
    ///
    /// Senders that cut a text within an emoji leave half of a surrogate pair, which is read as U+FFFD here.
    /// `notification.data` does the same with every string in it.
    var isProse: Bool {
        switch self {
        case .title, .body, .notificationTitle, .notificationSubtitle, .notificationBody, .deviceName,
            .deviceModel, .osVersion, .appVersion:
            true
        default: false
        }
    }

    /// What the field must be, to follow "must be".
    var rule: String {
        switch self {
        case .secret: "a string of 1 to \(Bounds.secretBytesMax) bytes"
        case .deviceToken: "hexadecimal, of even length, 2 to \(DeviceToken.countMax) characters"
        case .bundleID: "1 to \(Topic.countMax) characters of A-Z a-z 0-9 . -"
        case .apnsEnvironment: "\"sandbox\" or \"production\""
        case .deviceName, .deviceModel, .osVersion, .appVersion:
            "a string of 1 to \(Bounds.deviceDetailBytesMax) bytes without NUL"
        case .preferences, .quietHours, .notification: "an object"
        case .preferencesEventTypes: "a list of event types, each once"
        case .quietHoursFrom: "a time of day such as \"22:00\""
        case .quietHoursTo: "a time of day such as \"07:00\", another one than from"
        case .quietHoursTimeZone: "a time zone's name such as \"Europe/Berlin\" that the relay's system knows"
        case .eventType: "\"complete\", \"permission\" or \"error\""
        case .sessionID, .serverID: "a string of 1 to \(Bounds.identifierBytesMax) bytes without NUL"
        case .eventID: "a string of 1 to \(Bounds.eventIDBytesMax) bytes without NUL"
        case .title, .body, .notificationTitle, .notificationSubtitle, .notificationBody:
            "a string that is not empty"
        case .notificationPushType: "\"alert\" or \"background\""
        case .notificationBadge: "a whole number from 0 to \(Bounds.badgeMax)"
        case .notificationSound:
            "a string of 1 to \(Bounds.identifierBytesMax) bytes without NUL, or an object with such a name, "
                + "critical (true or false) and volume (0 to 1)"
        case .notificationCategory, .notificationThreadID:
            "a string of 1 to \(Bounds.identifierBytesMax) bytes without NUL"
        case .notificationCollapseID: "1 to \(CollapseID.bytesMax) printable ASCII characters without spaces"
        case .notificationInterruptionLevel: "\"passive\", \"active\", \"time-sensitive\" or \"critical\""
        case .notificationRelevanceScore: "a number from 0 to 1"
        case .notificationPriority: "10, 5 or 1"
        case .notificationTimeToLive: "whole seconds from 0 to \(Bounds.timeToLiveSecondsMax)"
        case .quietHoursAllowPermission, .notificationMutableContent, .notificationContentAvailable:
            "true or false"
        case .notificationData: "an object without a member aps"
        }
    }
}
