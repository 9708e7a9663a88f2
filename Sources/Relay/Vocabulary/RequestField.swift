import APNs
import Storage
import WebPush

/// The fields of requests and their rules, which the tables in docs/reference/api.md mirror.
///
/// A nested field's name is prefixed with its object's name and a dot.
enum RequestField: String, CaseIterable, Sendable {
    case secret
    case deviceToken
    case webPush
    case webPushEndpoint = "webPush.endpoint"
    case webPushKeys = "webPush.keys"
    case webPushPublicKey = "webPush.keys.p256dh"
    case webPushAuth = "webPush.keys.auth"
    case webPushPage = "webPush.page"
    case bundleID = "bundleId"
    case apnsEnvironment = "apnsEnv"
    case deviceName
    case deviceModel
    case osVersion
    case appVersion
    case challengeCode
    case preferences
    case preferencesEventTypes = "preferences.eventTypes"
    case quietHours = "preferences.quietHours"
    case quietHoursFrom = "preferences.quietHours.from"
    case quietHoursTo = "preferences.quietHours.to"
    case quietHoursTimeZone = "preferences.quietHours.timeZone"
    case quietHoursAllowPermission = "preferences.quietHours.allowPermission"
    case quietHoursMode = "preferences.quietHours.mode"
    case preferencesBadge = "preferences.badge"
    case preferencesTimeZone = "preferences.timeZone"
    case preferencesPerHour = "preferences.perHour"
    case preferencesPerDay = "preferences.perDay"
    case preferencesActivityReplacesAlert = "preferences.activityReplacesAlert"
    case installationID = "deviceID"
    case sealed
    case presenceSeconds = "seconds"
    case pushToStartToken
    case attributesType
    case widgetPushToken
    case controlPushToken
    case activityToken
    case events
    case eventType
    case sessionID
    case serverID
    case title
    case subtitle
    case body
    case shorten
    case eventID
    case category
    case mutableContent
    case actions
    case async
    case `repeat`
    case repeatEvery = "repeat.every"
    case repeatFor = "repeat.for"
    case contentState
    case attributes
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
    case notificationKind = "notification.kind"
    case notificationActions = "notification.actions"
    case historyBefore = "before"
    case historyLimit = "limit"
    case historyIDs = "ids"
    case historyAll = "all"
    case clear
    case replyAction = "action"
    case replyText = "text"
    case waitTimeout = "timeout"
    case replyOutcome = "outcome"
    case replyReason = "reason"
    case outcomeCursor = "cursor"
    case since
    case scheduleAt = "at"
    case scheduleIn = "in"
    case every
    case everyUnit = "every.unit"
    case everyInterval = "every.interval"
    case everyAt = "every.at"
    case everyOn = "every.on"
    case everyTimeZone = "every.timeZone"
    case everyUntil = "every.until"
    case scheduleName = "name"
    case scheduleLateBy = "lateBy"
    case scheduleWindow = "window"
    case scheduleID = "id"
    case scope
    case expiresAt
    case tokenID

    /// Whether the field is text for people, which no program compares.
    ///
    /// Senders that cut text within an emoji leave half of a surrogate pair, which is read as U+FFFD in these
    /// fields. The same applies to all strings in `notification.data`.
    var isProse: Bool {
        switch self {
        case .deviceName, .deviceModel, .osVersion, .appVersion, .replyText: true
        default: isShownText
        }
    }

    /// Whether the field is an APNs token.
    var isToken: Bool {
        switch self {
        case .deviceToken, .pushToStartToken, .widgetPushToken, .controlPushToken, .activityToken: true
        default: false
        }
    }

    /// Whether the field is part of a notification's visible text.
    var isShownText: Bool {
        switch self {
        case .title, .subtitle, .body, .notificationTitle, .notificationSubtitle, .notificationBody: true
        default: false
        }
    }

    /// The rule, worded to follow "must be".
    var rule: String {
        switch self {
        case .secret: "a string of 1 to \(Bounds.secretBytesMax) bytes"
        case .deviceToken: "hexadecimal, of even length, 2 to \(DeviceToken.countMax) characters"
        case .bundleID: "1 to \(APNs.Topic.countMax) characters of A-Z a-z 0-9 . -"
        case .apnsEnvironment: "\"sandbox\" or \"production\""
        case .deviceName, .deviceModel, .osVersion, .appVersion:
            "a string of 1 to \(Bounds.deviceDetailBytesMax) bytes without NUL"
        case .challengeCode:
            "the code of a challenge push: \(ChallengeCodes.count) characters of 0-9 a-f"
        case .preferences, .quietHours, .notification, .every, .repeat, .webPush, .webPushKeys: "an object"
        case .webPushEndpoint:
            "an https URL of at most \(PushEndpoint.bytesMax) bytes at a push service that the relay knows"
        case .webPushPublicKey: "base64url of an uncompressed P-256 public key"
        case .webPushAuth: "base64url of \(SubscriptionKeys.authBytes) bytes"
        case .webPushPage: "an https URL of at most \(WebPushDevice.pageBytesMax) bytes"
        case .preferencesEventTypes:
            "a list of at most \(Bounds.kindsMax) strings, event types and kinds of notifications, without duplicates"
        case .quietHoursFrom: "a time of day such as \"22:00\""
        case .quietHoursTo: "a time of day such as \"07:00\", not the same as from"
        case .quietHoursTimeZone, .preferencesTimeZone:
            "a string of at most \(TimeZones.nameBytesMax) bytes: a time zone's name such as \"Europe/Berlin\", or an "
                + "offset such as \"+05:30\""
        case .installationID: "1 to \(Bounds.installationCountMax) printable ASCII characters"
        case .sealed:
            "2 to \(Bounds.sealedCountMax) characters of base64url without padding, with \(SealedText.version) as the first "
                + "byte; in a registration a list of at most \(Bounds.sealedVersionsMax) "
                + "whole numbers from 1 to \(Bounds.sealedVersionMax), without duplicates"
        case .presenceSeconds: "whole seconds from 0 to \(Bounds.presenceSecondsMax)"
        case .events: "a list of 1 to \(Bounds.batchEventsMax) events"
        case .eventType: Self.eventTypes
        case .sessionID, .serverID: "a string of 1 to \(Bounds.identifierBytesMax) bytes without NUL"
        case .eventID: "a string of 1 to \(Bounds.eventIDBytesMax) bytes without NUL"
        case .title, .subtitle, .body, .notificationTitle, .notificationSubtitle, .notificationBody:
            "a string"
        case .activityToken: "hexadecimal, of even length, 2 to \(DeviceToken.countMax) characters"
        case .pushToStartToken, .widgetPushToken, .controlPushToken:
            "hexadecimal, of even length, 2 to \(DeviceToken.countMax) characters; empty to remove it"
        case .attributesType:
            "1 to \(StorageLimits.attributesTypeBytes) printable ASCII characters without spaces"
        case .contentState: "an object of at most \(Bounds.contentStateBytesMax) bytes"
        case .attributes: "an object"
        case .notificationPushType: Self.choice(["alert", "background", "widgets", "controls"])
        case .preferencesBadge: "a string: \"unread\""
        case .preferencesPerHour, .preferencesPerDay: "a whole number from 1 to \(Bounds.frequencyMax)"
        case .quietHoursMode: "a string: \"quiet\" or \"later\""
        case .notificationBadge: "a whole number from 0 to \(Bounds.badgeMax), or \"unread\""
        case .notificationSound:
            "a string of 1 to \(Bounds.identifierBytesMax) bytes without NUL, or an object with such a name, "
                + "critical (true or false) and volume (0 to 1)"
        case .category, .notificationCategory, .notificationThreadID:
            "a string of 1 to \(Bounds.identifierBytesMax) bytes without NUL"
        case .notificationCollapseID: "1 to \(CollapseID.bytesMax) printable ASCII characters without spaces"
        case .notificationInterruptionLevel: "\"passive\", \"active\", \"time-sensitive\" or \"critical\""
        case .notificationRelevanceScore: "a number from 0 to 1"
        case .notificationPriority: "10, 5 or 1"
        case .notificationTimeToLive: "whole seconds from 0 to \(Bounds.timeToLiveSecondsMax)"
        case .quietHoursAllowPermission, .preferencesActivityReplacesAlert, .mutableContent, .async,
            .shorten, .notificationMutableContent,
            .notificationContentAvailable:
            "true or false"
        case .notificationData: "an object without an aps member"
        case .notificationKind: "1 to \(Bounds.kindCountMax) characters of a-z 0-9 _ -"
        case .historyBefore: "the id of an item"
        case .historyLimit: "a whole number from 1 to \(Bounds.historyPageItemsMax)"
        case .historyIDs: "a list of 1 to \(Bounds.historyReadIDsMax) ids of items"
        case .historyAll: "true"
        case .clear: "true or false"
        case .replyAction: "1 to \(Bounds.replyActionCountMax) printable ASCII characters without spaces"
        case .actions, .notificationActions:
            "a list of 1 to \(Bounds.replyActionsMax) actions, without duplicates"
        case .replyText: "a string of 1 to \(Bounds.replyTextBytesMax) bytes without NUL"
        case .repeatEvery:
            "whole seconds from \(Bounds.repeatSeconds.lowerBound) to \(Bounds.repeatSeconds.upperBound)"
        case .repeatFor:
            "whole seconds from \(Bounds.repeatTotalSeconds.lowerBound) to \(Bounds.repeatTotalSeconds.upperBound)"
        case .replyOutcome: Self.choice(ReplyOutcome.allCases.map(\.rawValue))
        case .replyReason: "1 to \(Bounds.replyReasonCountMax) characters of a-z 0-9 _"
        case .waitTimeout: "whole seconds from 0 to \(Bounds.replyWaitSecondsMax)"
        case .outcomeCursor: "the cursor of an earlier response"
        case .since: "a time such as \"2027-03-28T08:00:00+02:00\""
        case .scheduleAt:
            "a time such as \"2027-03-28T08:00:00+02:00\", at most a year ahead and not in the past"
        case .scheduleIn: "whole seconds from 1 to \(Bounds.scheduleSecondsMax)"
        case .everyUnit: Self.recurrenceUnits
        case .everyInterval:
            "a whole number from 1 to \(Bounds.scheduleHoursMax) hours, \(Bounds.scheduleDaysMax) days, "
                + "\(Bounds.scheduleWeeksMax) weeks or \(Bounds.scheduleMonthsMax) months"
        case .everyAt:
            "a list of 1 to \(Bounds.scheduleTimesMax) times of day such as \"08:00\", at least "
                + "\(Bounds.scheduleMinutesMin) minutes apart"
        case .everyOn:
            "a list of weekdays, \"mon\" to \"sun\", or of days of the month, 1 to 31 or -1 for the last, without "
                + "duplicates"
        case .everyTimeZone:
            "a time zone's name such as \"Europe/Berlin\" known to the relay's system, an offset such as "
                + "\"+05:30\", or \"device\""
        case .everyUntil: "a time such as \"2027-12-31T23:59:59+01:00\", not before the first occurrence"
        case .scheduleName: "a string of 1 to \(Bounds.scheduleNameBytesMax) bytes without NUL"
        case .scheduleLateBy: "whole seconds from 0 to \(Bounds.scheduleLateByMax)"
        case .scheduleWindow: "whole seconds from 0 to \(Bounds.scheduleWindowMax)"
        case .scheduleID: "the id of a schedule"
        case .scope: Self.choice(AccessTokenScope.allCases.map(\.rawValue))
        case .expiresAt: "a time such as \"2027-12-31T23:59:59+01:00\", not in the past"
        case .tokenID: "the tokenID of an access token"
        }
    }

    /// Created only once, because error responses repeat it.
    private static let eventTypes = choice(EventType.allCases.map(\.rawValue))
    private static let recurrenceUnits = choice(["hour", "day", "week", "month"])

    /// The rule of a field that accepts one of several words.
    private static func choice(_ words: [String]) -> String {
        let quoted = words.map { "\"\($0)\"" }
        return quoted.dropLast().joined(separator: ", ") + " or " + (quoted.last ?? "")
    }
}
