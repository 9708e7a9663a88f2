import APNs
import JSON
import Storage

/// A background push that makes the app remove an event's notification.
struct ClearContent: Sendable {
    /// The ID that the sender gave the event.
    let eventID: String

    /// The `eventID` of the push itself, so that it is sent only once.
    var receiptID: String { "clear:" + Digest256(ofParts: [eventID]).hex }
}

extension ClearContent: PushContent {
    var pushType: PushType { .background }
    var priority: Priority { .conserveDevicePower }
    var collapseID: CollapseID? { nil }
    var timeToLive: Duration? { nil }
    var kind: String? { nil }
    var isSoundAlone: Bool { false }
    var showsText: Bool { false }
    var logType: String { "clear" }
    var sessionID: String { "" }
    var history: HistoryContent? { nil }
    var hasUnreadBadge: Bool { false }

    func digest(to device: DeviceToken?, repetition: String?) -> Digest256 {
        Digest256(ofParts: ["clear", eventID])
    }

    /// The payload, which is the same for every device.
    func payload(_ style: PushStyle) -> [UInt8] {
        var aps = APS()
        aps.isContentAvailable = true
        var writer = JSON.Writer(capacity: 256)
        writer.beginObject()
        aps.write(to: &writer)
        writer.name("clear")
        writer.beginObject()
        writer.member("eventID", eventID)
        writer.endObject()
        writer.endObject()
        return writer.finish()
    }
}
