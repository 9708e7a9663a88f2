/// A push message's content and handling, for any number of subscriptions.
///
/// A class, so that pushes share it instead of copying it.
package final class Message: Sendable {
    /// The plaintext, at most ``MessageEncryption/plaintextBytesMax`` bytes.
    package let payload: [UInt8]
    /// How the push service handles it.
    package let handling: Handling

    /// Creates a message from its parts.
    package init(payload: [UInt8], handling: Handling) {
        self.payload = payload
        self.handling = handling
    }
}

/// How a push service handles a message (RFC 8030, section 5).
package struct Handling: Hashable, Sendable {
    /// The longest time that push services keep messages, in seconds: 30 days.
    package static let timeToLiveMax = 2_592_000

    /// `TTL`: how long the service keeps the message for a user agent that is offline, in seconds.
    ///
    /// With 0, the message is lost unless the user agent is connected, so a sleeping phone doesn't get it.
    package let timeToLive: Int
    /// `Urgency`.
    package let urgency: Urgency
    /// `Topic`: the message replaces an undelivered one with the same topic.
    package let topic: Topic?

    /// Creates the handling; clamps the time to live to the allowed range.
    package init(timeToLive: Int, urgency: Urgency, topic: Topic? = nil) {
        self.timeToLive = min(max(timeToLive, 0), Self.timeToLiveMax)
        self.urgency = urgency
        self.topic = topic
    }
}

/// How urgent a message is (RFC 8030, section 5.3); the raw value is the header's value.
package enum Urgency: String, Hashable, Sendable, CaseIterable {
    case veryLow = "very-low"
    case low
    case normal
    /// Reaches sleeping devices; for messages that people see immediately.
    case high

    /// The urgency that corresponds to the APNs priority 10, 5 or 1.
    package init(priority: Int) {
        self =
            switch priority {
            case 10...: .high
            case 5...: .normal
            default: .low
            }
    }
}
