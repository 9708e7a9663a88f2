import JSON
import Storage

/// What a device wants to be sent: a pure value, kept with its registration as JSON.
struct DevicePreferences: Hashable, Sendable {
    /// The types of events that it wants; `nil` is all.
    var eventTypes: Set<EventType>?
    /// When it wants to be left in peace; `nil` is never.
    var quietHours: QuietHours?

    /// How a device wants a push.
    enum Wish: Hashable, Sendable {
        case normal
        /// Delivered without sound and without lighting up the screen.
        case quiet
        /// Not at all.
        case muted
    }

    /// Nothing is wished otherwise.
    static let none = DevicePreferences()

    /// Preferences of their parts.
    init(eventTypes: Set<EventType>? = nil, quietHours: QuietHours? = nil) {
        self.eventTypes = eventTypes
        self.quietHours = quietHours
    }

    /// How the device wants a push that is sent at a moment.
    ///
    /// - Parameters:
    ///   - type: The event's type; `nil` for a notification that is no event, which no list of types leaves out.
    ///   - zone: Finds a time zone; where it finds none any more, there are no quiet hours.
    func wish(
        for type: EventType?, at now: EpochMilliseconds, zone: (String) -> TimeZoneRules?
    ) -> Wish {
        if let type, let eventTypes, !eventTypes.contains(type) { return .muted }
        guard let quietHours, type != .permission || !quietHours.allowPermission,
            let zone = zone(quietHours.timeZone), quietHours.contains(now, in: zone)
        else { return .normal }
        return .quiet
    }
}

/// A span of the day, every day, in a time zone.
struct QuietHours: Hashable, Sendable {
    /// The first minute, 0 to 1,439.
    var from: Int
    /// The minute after the last one; one before ``from`` is on the next day.
    var to: Int
    /// The IANA name of the time zone.
    var timeZone: String
    /// Whether requests for permission come as at any other time.
    var allowPermission = true

    /// Whether a moment, milliseconds since 1970, lies in them by the clock on the wall.
    ///
    /// The hour that is skipped in spring is in no span; the one that comes twice in autumn is in its span twice.
    func contains(_ now: EpochMilliseconds, in zone: TimeZoneRules) -> Bool {
        let seconds = now.floorDivided(by: 1000)
        let local = seconds + Int64(zone.offset(at: seconds))
        let minute = Int((local - local.floorDivided(by: 86_400) * 86_400) / 60)
        return from < to ? (from..<to).contains(minute) : minute >= from || minute < to
    }

    /// The minute of `22:00`; `nil` for anything else than two digits, a colon, and two digits of a time of day.
    static func minute(_ text: String) -> Int? {
        let bytes = Array(text.utf8)
        guard bytes.count == 5, bytes[2] == UInt8(ascii: ":") else { return nil }
        let digits = [0, 1, 3, 4].map { Int(bytes[$0]) - 0x30 }
        guard digits.allSatisfy((0...9).contains) else { return nil }
        let (hour, minute) = (digits[0] * 10 + digits[1], digits[2] * 10 + digits[3])
        return hour < 24 && minute < 60 ? hour * 60 + minute : nil
    }

    /// A minute as `22:00`.
    static func text(_ minute: Int) -> String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(two(minute / 60)):\(two(minute % 60))"
    }
}

// MARK: As JSON

extension DevicePreferences {
    /// The text that is stored and shown.
    var json: [UInt8] {
        var writer = JSON.Writer()
        write(to: &writer)
        return writer.finish()
    }

    /// Writes the object.
    func write(to writer: inout JSON.Writer) {
        writer.beginObject()
        if let eventTypes {
            writer.name("eventTypes")
            writer.beginArray()
            for type in EventType.allCases where eventTypes.contains(type) { writer.string(type.rawValue) }
            writer.endArray()
        }
        if let quietHours {
            writer.name("quietHours")
            writer.beginObject()
            writer.member("from", QuietHours.text(quietHours.from))
            writer.member("to", QuietHours.text(quietHours.to))
            writer.member("timeZone", quietHours.timeZone)
            writer.member("allowPermission", quietHours.allowPermission)
            writer.endObject()
        }
        writer.endObject()
    }

    /// What was stored; a text that this program doesn't understand is no wish at all.
    init(stored text: String) {
        guard
            let object = try? JSON.parse(Array(text.utf8), maxBytes: StorageLimits.preferencesBytes).object,
            let preferences = try? DevicePreferences(RequestFields(object, within: .preferences))
        else {
            self = .none
            return
        }
        self = preferences
    }

    /// Checks what a registration says; see docs/API.md.
    init(_ fields: RequestFields) throws(APIError) {
        if let types = try fields.texts(.preferencesEventTypes) {
            let known = types.compactMap(EventType.init(rawValue:))
            guard known.count == types.count, Set(known).count == known.count else {
                throw APIError(.invalidField, field: .preferencesEventTypes)
            }
            eventTypes = Set(known)
        }
        if let hours = try fields.object(.quietHours) { quietHours = try QuietHours(hours) }
    }
}

extension QuietHours {
    fileprivate init(_ fields: RequestFields) throws(APIError) {
        func minute(_ field: RequestField) throws(APIError) -> Int {
            guard let minute = Self.minute(try fields.required(field)) else {
                throw APIError(.invalidField, field: field)
            }
            return minute
        }
        from = try minute(.quietHoursFrom)
        to = try minute(.quietHoursTo)
        guard from != to else { throw APIError(.invalidField, field: .quietHoursTo) }
        timeZone = try fields.required(.quietHoursTimeZone) { $0.count <= TimeZones.nameBytesMax }
        allowPermission = try fields.flag(.quietHoursAllowPermission) ?? true
    }
}
