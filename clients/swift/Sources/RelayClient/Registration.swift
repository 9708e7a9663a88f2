internal import PushSealing

/// What a device tells the relay about itself.
public struct Registration: Sendable, Equatable {
    /// The APNs environments.
    public enum Environment: String, Sendable {
        /// Apps built by Xcode.
        case sandbox
        /// Apps from TestFlight and the App Store.
        case production
    }

    /// The device's token.
    public var token: DeviceToken
    /// The app's bundle identifier; the relay's own app if absent.
    public var bundleID: String?
    /// The APNs environment in which the token is valid.
    public var environment = Environment.production
    /// Identifies the installation, so that a new token replaces its old one: 1 to 64 printable characters.
    public var deviceID: String?
    /// The device's name, for lists of devices.
    public var deviceName: String?
    /// The device's model.
    public var deviceModel: String?
    /// The system's version.
    public var osVersion: String?
    /// The app's version.
    public var appVersion: String?
    /// Which pushes the device wants; `nil` leaves the preferences at the relay unchanged.
    public var preferences: Preferences?
    /// The token with which the relay starts Live Activities; if absent, the relay keeps the one it has.
    ///
    /// Send the current one whenever the app comes to the foreground: iOS replaces it without notice.
    public var pushToStart: PushToStart?
    /// The code of a challenge push, for relays that ask for one.
    public var challengeCode: String?

    /// Creates a registration for a token.
    public init(token: DeviceToken) { self.token = token }

    /// A token from `Activity.pushToStartTokenUpdates`.
    public struct PushToStart: Sendable, Equatable {
        /// The token.
        public var token: DeviceToken
        /// The name of the app's `ActivityAttributes` type.
        public var attributesType: String

        /// Creates a token that starts activities with these attributes.
        public init(token: DeviceToken, attributesType: String) {
            self.token = token
            self.attributesType = attributesType
        }
    }

    func members(opens isSealing: Bool) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        members.add("deviceToken", token.hex)
        members.add("bundleId", bundleID)
        members.add("apnsEnv", environment.rawValue)
        members.add("deviceID", deviceID)
        members.add("deviceName", deviceName)
        members.add("deviceModel", deviceModel)
        members.add("osVersion", osVersion)
        members.add("appVersion", appVersion)
        if let preferences { members.append(JSONValue.Member("preferences", preferences.json)) }
        members.add("pushToStartToken", pushToStart?.token.hex)
        members.add("attributesType", pushToStart?.attributesType)
        members.add("challengeCode", challengeCode)
        if isSealing { members.append(JSONValue.Member("sealed", .array([.integer(Envelope.version)]))) }
        return members
    }

    /// The relay's response to a registration.
    public enum Outcome: Sendable, Equatable {
        /// The device gets pushes.
        case registered
        /// The device gets pushes, but the relay doesn't understand these fields, such as
        /// `preferences.quietHours.timeZone`.
        case registeredExcept([String])
        /// The relay has sent the device a push with a code; register again with that code.
        case challenged(id: String, expiresIn: Int)
    }
}

/// Which pushes a device wants.
public struct Preferences: Sendable, Equatable {
    /// The event types and notification kinds to push; all if absent.
    public var eventTypes: [String]?
    /// When pushes make no sound, or wait.
    public var quietHours: QuietHours?
    /// The device's time zone for schedules, such as `TimeZone.current.identifier`.
    public var timeZone: String?
    /// What the app's badge shows; nothing if absent.
    public var badge: Badge?
    /// The maximum number of pushes within an hour, 1 to 1,000; unlimited if absent.
    public var perHour: Int?
    /// The maximum number of pushes within 24 hours, 1 to 1,000; unlimited if absent.
    public var perDay: Int?
    /// Whether a push to a Live Activity that shows the session replaces the event's notification.
    public var activityReplacesAlert = false

    /// Creates preferences for all pushes, at any time.
    public init() {}

    /// What a badge shows.
    public enum Badge: String, Sendable {
        /// The number of unread items under the secret.
        case unread
    }

    /// A daily period in which pushes make no sound, or wait.
    public struct QuietHours: Sendable, Equatable {
        /// The beginning, such as `22:00`.
        public var from: String
        /// The end, such as `07:00`.
        public var to: String
        /// The name of a time zone, such as `Europe/Berlin`.
        public var timeZone: String
        /// Whether permission requests ignore quiet hours.
        public var allowPermission: Bool
        /// What happens to pushes during quiet hours.
        public var mode: Mode

        /// What happens to pushes during quiet hours.
        public enum Mode: String, Sendable {
            /// Pushes make no sound.
            case quiet
            /// Pushes wait until quiet hours end.
            case later
        }

        /// Creates quiet hours in a time zone.
        public init(
            from: String, to: String, timeZone: String, allowPermission: Bool = true, mode: Mode = .quiet
        ) {
            self.from = from
            self.to = to
            self.timeZone = timeZone
            self.allowPermission = allowPermission
            self.mode = mode
        }
    }

    var json: JSONValue {
        var members: [JSONValue.Member] = []
        if let eventTypes {
            members.append(JSONValue.Member("eventTypes", .array(eventTypes.map { .string($0) })))
        }
        if let quietHours {
            var hours: [JSONValue.Member] = []
            hours.add("from", quietHours.from)
            hours.add("to", quietHours.to)
            hours.add("timeZone", quietHours.timeZone)
            hours.append(JSONValue.Member("allowPermission", .bool(quietHours.allowPermission)))
            if quietHours.mode != .quiet { hours.add("mode", quietHours.mode.rawValue) }
            members.append(JSONValue.Member("quietHours", .object(hours)))
        }
        members.add("timeZone", timeZone)
        members.add("badge", badge?.rawValue)
        for (name, number) in [("perHour", perHour), ("perDay", perDay)] {
            if let number { members.append(JSONValue.Member(name, .integer(number))) }
        }
        if activityReplacesAlert { members.append(JSONValue.Member("activityReplacesAlert", .bool(true))) }
        return .object(members)
    }

    init?(_ json: JSONValue?) {
        guard let json, json.isObject else { return nil }
        eventTypes = json["eventTypes"]?.array?.compactMap(\.string)
        timeZone = json["timeZone"]?.string
        badge = json["badge"]?.string.flatMap(Badge.init(rawValue:))
        perHour = json["perHour"]?.integer
        perDay = json["perDay"]?.integer
        activityReplacesAlert = json["activityReplacesAlert"]?.bool ?? false
        guard let hours = json["quietHours"], let from = hours["from"]?.string, let to = hours["to"]?.string,
            let timeZone = hours["timeZone"]?.string
        else { return }
        quietHours = QuietHours(
            from: from, to: to, timeZone: timeZone, allowPermission: hours["allowPermission"]?.bool ?? true,
            mode: hours["mode"]?.string.flatMap(QuietHours.Mode.init(rawValue:)) ?? .quiet)
    }
}
