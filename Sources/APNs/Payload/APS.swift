package import JSON

/// The `aps` dictionary of a notification.
///
/// Source: Apple, "Generating a remote notification", tables 1 and 2. The caller writes the app's own members.
package struct APS: Sendable {
    /// Apple's interruption levels.
    package enum InterruptionLevel: String, CaseIterable, Sendable {
        case passive, active, critical
        case timeSensitive = "time-sensitive"
    }

    /// A sound: a name, or Apple's dictionary for critical alerts.
    package struct Sound: Sendable {
        package let name: String
        /// Whether the alert is critical; like ``volume``, `nil` for a plain name.
        package let isCritical: Bool?
        /// The volume from 0 to 1, as the client wrote it.
        package let volume: JSON.Number?

        /// A sound in the app's bundle, or `default`.
        package init(name: String, isCritical: Bool? = nil, volume: JSON.Number? = nil) {
            self.name = name
            self.isCritical = isCritical
            self.volume = volume
        }
    }

    package var title: String?
    package var subtitle: String?
    package var body: String?
    package var badge: Int?
    package var sound: Sound?
    package var category: String?
    package var threadID: String?
    package var interruptionLevel: InterruptionLevel?
    package var relevanceScore: JSON.Number?
    /// `mutable-content`: the app's extension may modify the notification before it is shown.
    package var isMutable = false
    /// `content-available`: wakes the app in the background.
    package var isContentAvailable = false

    /// Creates an empty dictionary.
    package init() {}

    /// Whether the notification has visible text.
    package var hasText: Bool { title != nil || subtitle != nil || body != nil }

    /// Writes the member `aps` into the open object.
    package func write(to writer: inout JSON.Writer) {
        writer.name("aps")
        writer.beginObject()
        if hasText {
            writer.name("alert")
            writer.beginObject()
            if let title { writer.member("title", title) }
            if let subtitle { writer.member("subtitle", subtitle) }
            if let body { writer.member("body", body) }
            writer.endObject()
        }
        if let badge { writer.member("badge", badge) }
        sound?.write(to: &writer)
        if let category { writer.member("category", category) }
        if let threadID { writer.member("thread-id", threadID) }
        if let interruptionLevel { writer.member("interruption-level", interruptionLevel.rawValue) }
        if let relevanceScore {
            writer.name("relevance-score")
            writer.number(relevanceScore)
        }
        if isMutable { writer.member("mutable-content", 1) }
        if isContentAvailable { writer.member("content-available", 1) }
        writer.endObject()
    }
}

extension APS.Sound {
    fileprivate func write(to writer: inout JSON.Writer) {
        guard isCritical != nil || volume != nil else { return writer.member("sound", name) }
        writer.name("sound")
        writer.beginObject()
        if isCritical == true { writer.member("critical", 1) }
        writer.member("name", name)
        if let volume {
            writer.name("volume")
            writer.number(volume)
        }
        writer.endObject()
    }
}
