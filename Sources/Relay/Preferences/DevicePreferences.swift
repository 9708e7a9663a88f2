import JSON
import Programs
import Storage

/// A device's push preferences: a pure value, stored with its registration as JSON.
struct DevicePreferences: Hashable, Sendable {
    /// The event types and kinds of notifications that the device wants; `nil` for all.
    var kinds: Set<String>?
    /// The hours in which the device doesn't want to be disturbed; `nil` for none.
    var quietHours: QuietHours?
    /// The number shown as the app's badge; `nil` if pushes don't change the badge.
    var badge: Badge?
    /// The IANA name of the device's time zone, for schedules; `nil` for the time zone of its quiet hours, if any.
    var timeZone: String?
    /// Maximum pushes within an hour; `nil` for no limit.
    var perHour: Int?
    /// Maximum pushes within a day; `nil` for no limit.
    var perDay: Int?
    /// Whether an update to a Live Activity replaces the same event's alert.
    var activityReplacesAlert = false
    /// The time until which someone is looking at the secret's agents; not part of the registration.
    var lookingUntil: EpochMilliseconds?
    /// The fields whose values in the registration are unknown, except time zones, which are stored even if unknown.
    var unknown: Set<RequestField> = []

    /// The number that a badge shows.
    enum Badge: String, Sendable {
        /// The number of the secret's unread items.
        case unread
    }

    /// How to deliver a push to a device.
    enum Wish: Hashable, Sendable {
        case normal
        /// Without sound and without lighting up the screen, or at the given time if the device prefers to get the push
        /// then.
        case quiet(until: EpochMilliseconds?)
        /// Not at all.
        case muted
    }

    static let none = DevicePreferences()

    /// Creates preferences from their parts.
    init(
        kinds: Set<String>? = nil, quietHours: QuietHours? = nil, badge: Badge? = nil,
        timeZone: String? = nil, perHour: Int? = nil, perDay: Int? = nil
    ) {
        self.kinds = kinds
        self.quietHours = quietHours
        self.badge = badge
        self.timeZone = timeZone
        self.perHour = perHour
        self.perDay = perDay
    }

    /// How to deliver a push sent at this time.
    ///
    /// - Parameters:
    ///   - kind: The event type or the notification's kind; `nil` for a notification without a kind, which no list
    ///     excludes.
    ///   - zone: Looks up a time zone. Quiet hours with an unknown zone use the device's own zone; if that is unknown
    ///     as well, there are no quiet hours.
    func wish(
        for kind: String?, at now: EpochMilliseconds, zone: (String) -> TimeZoneRules?
    ) -> Wish {
        if let kind, let kinds, !kinds.contains(kind) { return .muted }
        let isPermission = kind == EventType.permission.rawValue
        guard let quietHours, !isPermission || !quietHours.allowPermission,
            let zone = zone(quietHours.timeZone) ?? timeZone.flatMap(zone),
            quietHours.contains(now, in: zone)
        else { return .normal }
        return .quiet(until: quietHours.mode == .later ? quietHours.end(after: now, in: zone) : nil)
    }

    /// The names of the device's time zones; the zone for schedules comes first.
    var timeZones: [(field: RequestField, name: String)] {
        [(.preferencesTimeZone, timeZone), (.quietHoursTimeZone, quietHours?.timeZone)]
            .compactMap { field, name in name.map { (field, $0) } }
    }

    /// The fields of the registration that have no effect, in the order of docs/reference/api.md.
    func ignored(_ zones: TimeZones) -> [RequestField] {
        let lost = timeZones.filter { zones.zone($0.name) == nil }.map(\.field)
        return RequestField.allCases.filter { unknown.contains($0) || lost.contains($0) }
    }
}

/// A daily time span in a time zone.
struct QuietHours: Hashable, Sendable {
    /// The first minute of the span, counted from midnight: 0 to 1,439.
    var from: Int
    /// The minute after the last one; if less than ``from``, it is on the next day.
    var to: Int
    /// The IANA name of the time zone.
    var timeZone: String
    /// Whether permission requests are delivered as usual.
    var allowPermission = true
    /// What happens to pushes within the span.
    var mode = Mode.quiet

    /// What happens to pushes within the span.
    enum Mode: String, Sendable {
        /// Pushes are delivered quietly.
        case quiet
        /// Pushes are sent when the span is over.
        case later
    }

    /// When the span that contains a time ends; always later than that time.
    ///
    /// A change of the zone's offset in between is taken into account.
    func end(after now: EpochMilliseconds, in zone: TimeZoneRules) -> EpochMilliseconds {
        let seconds = now.floorDivided(by: 1000)
        let offset = Int64(zone.offset(at: seconds))
        let local = seconds + offset
        let midnight = local.floorDivided(by: 86_400) * 86_400
        let today = midnight + Int64(to) * 60
        let end = today > local ? today : today + 86_400
        let unchanged = end - offset
        let offsetThen = zone.offset(at: unchanged)
        let changed = end - Int64(offsetThen)
        // In spring, the end may be a local time that is skipped. The span then ends when the clocks change, no later
        // than the end according to the old offset.
        return (zone.offset(at: changed) == offsetThen ? changed : unchanged) * 1000
    }

    /// Whether a time in milliseconds since 1970 is within the span, in local time.
    ///
    /// The hour that is skipped in spring is in no span; the hour that is repeated in autumn is in its span twice.
    func contains(_ now: EpochMilliseconds, in zone: TimeZoneRules) -> Bool {
        let seconds = now.floorDivided(by: 1000)
        let local = seconds + Int64(zone.offset(at: seconds))
        let minute = Int((local - local.floorDivided(by: 86_400) * 86_400) / 60)
        return from < to ? (from..<to).contains(minute) : minute >= from || minute < to
    }

    /// Parses `22:00`; `nil` for anything but a time of day with two digits on each side of the colon.
    static func minute(_ text: String) -> Int? {
        let bytes = Array(text.utf8)
        guard bytes.count == 5, bytes[2] == UInt8(ascii: ":") else { return nil }
        let digits = [0, 1, 3, 4].map { Int(bytes[$0]) - 0x30 }
        guard digits.allSatisfy((0...9).contains) else { return nil }
        let (hour, minute) = (digits[0] * 10 + digits[1], digits[2] * 10 + digits[3])
        return hour < 24 && minute < 60 ? hour * 60 + minute : nil
    }

    /// Formats a minute as `22:00`.
    static func text(_ minute: Int) -> String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(two(minute / 60)):\(two(minute % 60))"
    }
}

// MARK: As JSON

extension DevicePreferences {
    /// The stored text.
    var json: [UInt8] {
        var writer = JSON.Writer()
        writer.beginObject()
        writeMembers(to: &writer)
        if let lookingUntil { writer.member("lookingUntil", lookingUntil) }
        if !unknown.isEmpty { writer.member("unknown", RequestField.allCases.filter(unknown.contains)) }
        writer.endObject()
        return writer.finish()
    }

    /// Writes the preferences in the format of a registration.
    func write(to writer: inout JSON.Writer) {
        writer.beginObject()
        writeMembers(to: &writer)
        writer.endObject()
    }

    private func writeMembers(to writer: inout JSON.Writer) {
        if let kinds {
            let types = EventType.allCases.map(\.rawValue)
            writer.name("eventTypes")
            writer.beginArray()
            for type in types where kinds.contains(type) { writer.string(type) }
            for kind in kinds.subtracting(types).sorted() { writer.string(kind) }
            writer.endArray()
        }
        if let quietHours {
            writer.name("quietHours")
            writer.beginObject()
            writer.member("from", QuietHours.text(quietHours.from))
            writer.member("to", QuietHours.text(quietHours.to))
            writer.member("timeZone", quietHours.timeZone)
            writer.member("allowPermission", quietHours.allowPermission)
            if quietHours.mode != .quiet { writer.member("mode", quietHours.mode.rawValue) }
            writer.endObject()
        }
        if let badge { writer.member("badge", badge.rawValue) }
        if let timeZone { writer.member("timeZone", timeZone) }
        if let perHour { writer.member("perHour", perHour) }
        if let perDay { writer.member("perDay", perDay) }
        if activityReplacesAlert { writer.member("activityReplacesAlert", true) }
    }

    /// Reads stored preferences; text that this program doesn't understand means no preferences.
    init(stored text: String) {
        guard
            let object = try? JSON.parse(Array(text.utf8), maxBytes: StorageLimits.preferencesBytes).object,
            let preferences = try? DevicePreferences(RequestFields(object, within: .preferences))
        else {
            self = .none
            return
        }
        self = preferences
        lookingUntil = object["lookingUntil"]?.int.map { EpochMilliseconds($0) }
        let names = object["unknown"]?.array ?? []
        unknown.formUnion(names.compactMap { $0.string.flatMap(RequestField.init(rawValue:)) })
    }

    /// Validates the preferences in a registration; see docs/reference/api.md.
    ///
    /// An unknown word, perhaps from a newer relay, has no effect; the other values do.
    init(_ fields: RequestFields) throws(APIError) {
        if let kinds = try fields.texts(.preferencesEventTypes) {
            guard kinds.count <= Bounds.kindsMax, case let different = Set(kinds),
                different.count == kinds.count
            else { throw APIError(.invalidField, field: .preferencesEventTypes) }
            let known = different.filter { EventType.isKind($0.utf8) }
            if known != different { unknown.insert(.preferencesEventTypes) }
            // A list without a known type or kind would mute everything.
            if !known.isEmpty || different.isEmpty { self.kinds = known }
        }
        if let hours = try fields.object(.quietHours) {
            let mode: QuietHours.Mode? = try hours.word(.quietHoursMode, &unknown)
            quietHours = try QuietHours(hours, mode ?? .quiet)
        }
        badge = try fields.word(.preferencesBadge, &unknown)
        timeZone = try fields.optional(.preferencesTimeZone) { $0.count <= TimeZones.nameBytesMax }
        perHour = try fields.integer(.preferencesPerHour, in: 1...Bounds.frequencyMax)
        perDay = try fields.integer(.preferencesPerDay, in: 1...Bounds.frequencyMax)
        activityReplacesAlert = try fields.flag(.preferencesActivityReplacesAlert) ?? false
    }
}

extension QuietHours {
    fileprivate init(_ fields: RequestFields, _ mode: Mode) throws(APIError) {
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
        self.mode = mode
    }
}

extension RequestFields {
    /// Reads an optional word; an unknown word is added to `unknown` and counts as absent.
    fileprivate func word<Word: RawRepresentable<String>>(
        _ field: RequestField, _ unknown: inout Set<RequestField>
    ) throws(APIError) -> Word? {
        guard let text = try optional(field) else { return nil }
        let word = Word(rawValue: text)
        if word == nil { unknown.insert(field) }
        return word
    }
}
