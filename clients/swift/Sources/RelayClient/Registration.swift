internal import PushSealing

/// What a device tells the relay about itself.
public struct Registration: Sendable, Equatable {
    /// APNs' environments.
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
    /// Where the token is valid.
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
    /// Which pushes the device wants; `nil` leaves the relay's as they are.
    public var preferences: Preferences?
    /// The token with which the relay starts Live Activities; the relay keeps what it has if absent.
    ///
    /// Send the current one whenever the app comes to the foreground: iOS replaces it without notice.
    public var pushToStart: PushToStart?
    /// The code of a challenge push, for relays that ask for one.
    public var challengeCode: String?

    /// A registration of a token.
    public init(token: DeviceToken) { self.token = token }

    /// A token of `Activity.pushToStartTokenUpdates`.
    public struct PushToStart: Sendable, Equatable {
        /// The token.
        public var token: DeviceToken
        /// The name of the app's `ActivityAttributes` type.
        public var attributesType: String

        /// A token that starts activities with these attributes.
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

    /// The relay's answer.
    public enum Outcome: Sendable, Equatable {
        /// The device gets pushes.
        case registered
        /// The relay has sent the device a push with a code; register again with it.
        case challenged(id: String, expiresIn: Int)
    }
}

/// Which pushes a device wants.
public struct Preferences: Sendable, Equatable {
    /// Event types and kinds of notifications; all if absent.
    public var eventTypes: [String]?
    /// When pushes make no sound.
    public var quietHours: QuietHours?
    /// The device's time zone for schedules, such as `TimeZone.current.identifier`.
    public var timeZone: String?

    /// All pushes, at any time.
    public init() {}

    /// Times of day between which pushes make no sound.
    public struct QuietHours: Sendable, Equatable {
        /// The beginning, such as `22:00`.
        public var from: String
        /// The end, such as `07:00`.
        public var to: String
        /// The name of a time zone, such as `Europe/Berlin`.
        public var timeZone: String
        /// Whether requests for permission make a sound nevertheless.
        public var allowPermission: Bool

        /// Quiet hours in a time zone.
        public init(from: String, to: String, timeZone: String, allowPermission: Bool = true) {
            self.from = from
            self.to = to
            self.timeZone = timeZone
            self.allowPermission = allowPermission
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
            members.append(JSONValue.Member("quietHours", .object(hours)))
        }
        members.add("timeZone", timeZone)
        return .object(members)
    }

    init?(_ json: JSONValue?) {
        guard let json, json.isObject else { return nil }
        eventTypes = json["eventTypes"]?.array?.compactMap(\.string)
        timeZone = json["timeZone"]?.string
        guard let hours = json["quietHours"], let from = hours["from"]?.string, let to = hours["to"]?.string,
            let timeZone = hours["timeZone"]?.string
        else { return }
        quietHours = QuietHours(
            from: from, to: to, timeZone: timeZone, allowPermission: hours["allowPermission"]?.bool ?? true)
    }
}
