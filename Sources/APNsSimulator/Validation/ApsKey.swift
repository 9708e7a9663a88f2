/// The documented keys of the `aps` dictionary, with the type of value each requires.
///
/// Sources: Apple, "Generating a remote notification" and "Starting and updating Live Activities with ActivityKit
/// push notifications".
package struct ApsKey: Sendable {
    /// The required type of value.
    package enum Shape: Sendable {
        case alert
        case sound
        case string
        case number
        /// The integers 0 or 1.
        case flag
        case bool
        case object
        case strings
        /// One of ``interruptionLevels``.
        case interruptionLevel
        /// One of ``events``.
        case event
        /// A number from 0 to 1; any number in a Live Activity.
        case score
    }

    package let name: StaticString
    package let shape: Shape
    /// The key's bit in a set of keys; empty for keys that no rule checks.
    package let mark: Mark

    /// The keys whose presence depends on the push type.
    package struct Mark: OptionSet, Sendable {
        package let rawValue: UInt16
        package init(rawValue: UInt16) { self.rawValue = rawValue }
        package static let alert = Mark(rawValue: 1)
        package static let badge = Mark(rawValue: 2)
        package static let sound = Mark(rawValue: 4)
        package static let contentAvailable = Mark(rawValue: 8)
        package static let timestamp = Mark(rawValue: 16)
        package static let event = Mark(rawValue: 32)
        package static let contentState = Mark(rawValue: 64)
        package static let attributesType = Mark(rawValue: 128)
        package static let attributes = Mark(rawValue: 256)
    }

    private init(_ name: StaticString, _ shape: Shape, _ mark: Mark = []) {
        self.name = name
        self.shape = shape
        self.mark = mark
    }

    /// Every documented key.
    package static let all: [ApsKey] = [
        ApsKey("alert", .alert, .alert),
        ApsKey("badge", .number, .badge),
        ApsKey("sound", .sound, .sound),
        ApsKey("thread-id", .string),
        ApsKey("category", .string),
        ApsKey("content-available", .flag, .contentAvailable),
        ApsKey("mutable-content", .flag),
        ApsKey("target-content-id", .string),
        ApsKey("interruption-level", .interruptionLevel),
        ApsKey("relevance-score", .score),
        ApsKey("filter-criteria", .string),
        ApsKey("stale-date", .number),
        ApsKey("content-state", .object, .contentState),
        ApsKey("timestamp", .number, .timestamp),
        ApsKey("event", .event, .event),
        ApsKey("dismissal-date", .number),
        ApsKey("attributes-type", .string, .attributesType),
        ApsKey("attributes", .object, .attributes),
        ApsKey("input-push-channel", .string),
        ApsKey("input-push-token", .flag),
        ApsKey("content-changed", .bool),
        ApsKey("url-args", .strings),
        ApsKey("summary-arg", .string),
        ApsKey("summary-arg-count", .number),
    ]

    private static let byLength: [[ApsKey]] = {
        let longest = all.reduce(0) { max($0, $1.name.utf8CodeUnitCount) }
        return (0...longest).map { length in all.filter { $0.name.utf8CodeUnitCount == length } }
    }()

    /// The documented key with this name; `nil` for an undocumented one.
    package static func named(_ name: Range<Int>, in json: ValidatedJSON) -> ApsKey? {
        let candidates = name.count < byLength.count ? byLength[name.count] : []
        if let key = candidates.first(where: { json.string(in: name, equals: $0.name) }) { return key }
        guard json.isEscaped(name) else { return nil }
        return all.first { json.string(in: name, equals: $0.name) }
    }

    /// The values of `interruption-level`.
    package static let interruptionLevels: [StaticString] = [
        "passive", "active", "time-sensitive", "critical",
    ]
    /// The values of `event` in a Live Activity.
    package static let events: [StaticString] = ["start", "update", "end"]

    /// The string members of an `alert` dictionary; ``alertLists`` has the lists.
    package static let alertStrings: [StaticString] = [
        "title", "subtitle", "body", "launch-image", "title-loc-key", "subtitle-loc-key", "loc-key",
        "action-loc-key", "sound",
    ]
    package static let alertLists: [StaticString] = ["title-loc-args", "subtitle-loc-args", "loc-args"]
}
