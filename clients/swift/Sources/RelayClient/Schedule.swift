public import Foundation
public import PushSealing

/// Something to send later, once or repeatedly (docs/guide/schedules.md).
public struct NewSchedule: Sendable, Equatable {
    /// What is sent.
    public enum Content: Sendable, Equatable {
        /// A notification, whose text the relay and Apple can read; with a sealed message, phones show that message
        /// instead.
        case notification(VisibleNotification, sealed: SealedMessage? = nil)
        /// A sealed event: `complete`, `permission` or `error`, and the session as the relay and Apple see it.
        case event(SealedMessage, type: String, sessionID: String)
    }

    /// When it is sent.
    public enum Time: Sendable, Equatable {
        /// Once, at most a year ahead.
        case at(Date)
        /// Once, after a number of seconds.
        case after(seconds: Int)
        /// Repeatedly.
        case every(Recurrence)
    }

    /// What is sent.
    public var content: Content
    /// When it is sent.
    public var time: Time
    /// The name, random if absent; replaces a schedule with the same name, so that a retry doesn't add a second one.
    public var name: String?
    /// The only device to push to; all of the pairing's devices if absent.
    public var device: DeviceToken?
    /// How many seconds late a missed occurrence may still be sent; an hour if absent.
    public var lateBy: Int?
    /// The number of seconds over which the relay spreads the occurrences of different schedules.
    public var window: Int?

    /// Creates a schedule.
    public init(_ content: Content, _ time: Time) {
        self.content = content
        self.time = time
    }

    func members(
        seal: (SealedMessage, _ type: String) throws(RelayError) -> String
    ) throws(RelayError) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        members.add("name", name ?? UUID().uuidString)
        members.add("deviceToken", device?.hex)
        switch content {
        case .notification(let visible, let sealed):
            members.append(JSONValue.Member("notification", .object(visible.members)))
            if let sealed { members.add("sealed", try seal(sealed, visible.kind ?? Envelope.defaultType)) }
        case .event(let message, let type, let sessionID):
            members.add("eventType", type)
            members.add("sessionID", sessionID)
            members.add("serverID", message.serverID)
            members.add("sealed", try seal(message, type))
        }
        switch time {
        case .at(let date): members.add("at", date.rfc3339)
        case .after(let seconds): members.append(JSONValue.Member("in", .integer(seconds)))
        case .every(let recurrence): members.append(JSONValue.Member("every", recurrence.json))
        }
        if let lateBy { members.append(JSONValue.Member("lateBy", .integer(lateBy))) }
        if let window { members.append(JSONValue.Member("window", .integer(window))) }
        return members
    }
}

/// A notification as the relay and Apple see it.
public struct VisibleNotification: Sendable, Equatable {
    /// The title, unless there is only a body.
    public var title: String?
    /// The text, unless there is only a title.
    public var body: String?
    /// The line between title and body.
    public var subtitle: String?
    /// The name of a sound in the app, or `default`; none if absent.
    public var sound: String?
    /// The identifier of the notification's category, which defines its buttons.
    public var category: String?
    /// The replies that the sender accepts: at most 10 names; any if empty.
    public var actions: [String] = []
    /// Groups notifications that have the same value.
    public var threadID: String?
    /// The notification's kind, which devices can switch off in ``Preferences/eventTypes``.
    public var kind: String?

    /// Creates a notification.
    public init(title: String? = nil, body: String? = nil, sound: String? = "default") {
        self.title = title
        self.body = body
        self.sound = sound
    }

    var members: [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        members.add("title", title)
        members.add("subtitle", subtitle)
        members.add("body", body)
        members.add("sound", sound)
        members.add("category", category)
        members.add("actions", actions)
        members.add("threadID", threadID)
        members.add("kind", kind)
        return members
    }
}

/// When a schedule recurs.
public struct Recurrence: Sendable, Equatable {
    /// The unit in which a recurrence counts.
    public enum Unit: String, Sendable {
        /// Hours, counted from the schedule's creation.
        case hour
        /// Days.
        case day
        /// Weeks, which begin on Monday.
        case week
        /// Months.
        case month
    }

    /// The days of the week.
    public enum Weekday: String, Sendable, CaseIterable {
        /// The days as the relay writes them.
        case mon, tue, wed, thu, fri, sat, sun
    }

    /// The unit in which the recurrence counts.
    public var unit: Unit
    /// How many units pass from one occurrence to the next: 2 is every other day, week and so on; 1 if absent.
    public var interval: Int?
    /// The times of day, such as `08:00`; none if the unit is hours.
    public var times: [String]
    /// The days of the week.
    public var weekdays: [Weekday] = []
    /// The days of the month, 1 to 31, and -1 for the last one.
    public var monthDays: [Int] = []
    /// The time zone of ``times``: a name such as `Europe/Berlin`, or ``deviceTimeZone``; none if the unit is hours.
    public var timeZone: String?
    /// The last moment at which an occurrence is possible.
    public var until: Date?

    /// Stands for each phone's own time zone, which is its ``Preferences/timeZone``.
    public static let deviceTimeZone = "device"

    /// Creates a recurrence.
    public init(_ unit: Unit, times: [String] = [], timeZone: String? = nil) {
        self.unit = unit
        self.times = times
        self.timeZone = timeZone
    }

    fileprivate var json: JSONValue {
        var members: [JSONValue.Member] = []
        members.add("unit", unit.rawValue)
        if let interval { members.append(JSONValue.Member("interval", .integer(interval))) }
        if !times.isEmpty { members.append(JSONValue.Member("at", .array(times.map { .string($0) }))) }
        let days = weekdays.map { JSONValue.string($0.rawValue) } + monthDays.map { .integer($0) }
        if !days.isEmpty { members.append(JSONValue.Member("on", .array(days))) }
        members.add("timeZone", timeZone)
        members.add("until", until?.rfc3339)
        return .object(members)
    }

    fileprivate init?(_ json: JSONValue?) {
        guard let json, let unit = json["unit"]?.string.flatMap(Unit.init) else { return nil }
        self.init(
            unit, times: json["at"]?.array?.compactMap(\.string) ?? [], timeZone: json["timeZone"]?.string)
        interval = json["interval"]?.integer
        weekdays = json["on"]?.array?.compactMap { $0.string.flatMap(Weekday.init) } ?? []
        monthDays = json["on"]?.array?.compactMap(\.integer) ?? []
        until = json.date("until")
    }
}

/// A schedule in the relay's list, without its content.
public struct Schedule: Sendable, Equatable {
    /// The schedule's ID at the relay.
    public let id: String
    /// The schedule's name.
    public let name: String?
    /// When the schedule was created.
    public let createdAt: Date?
    /// When the schedule sends next.
    public let nextAt: Date?
    /// When the schedule recurs; `nil` if it sends only once.
    public let every: Recurrence?
    /// When the schedule last sent.
    public let lastAt: Date?
    /// The outcome of the last occurrence, such as `sent`; docs/guide/schedules.md lists them.
    public let lastOutcome: String?
    /// How many occurrences were skipped.
    public let skipped: Int

    init?(_ json: JSONValue) {
        guard let id = json["id"]?.string else { return nil }
        self.id = id
        name = json["name"]?.string
        createdAt = json.date("createdAt")
        nextAt = json.date("nextAt")
        every = Recurrence(json["every"])
        lastAt = json.date("lastAt")
        lastOutcome = json["lastOutcome"]?.string
        skipped = json["skipped"]?.integer ?? 0
    }
}

extension Relay {
    /// Schedules something to send; returns the schedule's ID and the time of its first occurrence.
    public func schedule(_ new: NewSchedule) async throws(RelayError) -> (id: String, nextAt: Date?) {
        let members = try new.members { (message, type) throws(RelayError) in
            try seal(message, type: type)
        }
        let (_, body) = try await connection.post("v1/schedule/create", [secret] + members)
        return (body["id"]?.string ?? "", body.date("nextAt"))
    }

    /// The pairing's schedules, the next one first.
    public func schedules() async throws(RelayError) -> [Schedule] {
        let (_, body) = try await connection.post("v1/schedule/list", [secret])
        return (body["schedules"]?.array ?? []).compactMap { Schedule($0) }
    }

    /// Cancels a schedule, and returns whether there was one.
    public func cancelSchedule(id: String) async throws(RelayError) -> Bool {
        try await cancel("id", id)
    }

    /// Cancels the schedule with this name, and returns whether there was one.
    public func cancelSchedule(name: String) async throws(RelayError) -> Bool {
        try await cancel("name", name)
    }

    private func cancel(_ member: String, _ value: String) async throws(RelayError) -> Bool {
        let (_, body) = try await connection.post(
            "v1/schedule/cancel", [secret, JSONValue.Member(member, .string(value))])
        return body["cancelled"] == .integer(1)
    }
}

extension Date {
    /// The date in UTC with milliseconds, as the relay writes times.
    fileprivate var rfc3339: String { Date.ISO8601FormatStyle(includingFractionalSeconds: true).format(self) }
}
