import APNs
import JSON
import Network
import Programs
import Storage

/// An event's state for the Live Activities of its session.
struct ActivityContent: Sendable {
    let type: EventType
    let sessionID: String
    let serverID: String?
    /// `content-state`: defined by the app; the relay doesn't interpret it.
    let state: JSON.Object
    /// `attributes` of a start; `nil` for the default, which contains the IDs of the session and its server.
    let attributes: JSON.Object?
    /// The alert's title.
    let title: String
    /// The alert's text.
    let body: String
    /// When the event arrived.
    var at: EpochMilliseconds = 0

    /// A push's alert.
    enum Alert: Hashable, Sendable {
        case none
        case silent
        /// An alert with this sound, because it replaces the device's notification.
        case sound(String)
    }

    /// The payload of a push, at most ``Notification/payloadBytesMax`` bytes if ``sizeMax`` isn't larger.
    ///
    /// - Parameters:
    ///   - target: The token with this push's timestamp.
    ///   - time: When the push is sent, in milliseconds.
    func payload(
        _ plan: ActivityPlan, to target: PushToken, _ alert: Alert, at time: EpochMilliseconds
    ) -> [UInt8] {
        let payload = written(plan, target, alert, time, title: title, body: body)
        let excess = payload.count - Notification.payloadBytesMax
        guard excess > 0, alert != .none else { return payload }
        let texts = JSON.Writer.escapedCount(title) + JSON.Writer.escapedCount(body)
        let short = body.shortened(toEscaped: JSON.Writer.escapedCount(body) - excess)
        let room = texts - excess - JSON.Writer.escapedCount(short)
        return written(plan, target, alert, time, title: title.shortened(toEscaped: room), body: short)
    }

    /// The size of the largest payload, with the alert's texts shortened to `…`.
    var sizeMax: Int {
        let target = PushToken(
            id: "", secretHash: SecretHash(Digest256(of: [])), kind: type == .start ? .start : .activity,
            token: "", deviceID: nil, bundleID: "", environment: .production,
            attributesType: String(repeating: "A", count: StorageLimits.attributesTypeBytes), createdAt: 0,
            updatedAt: 0, stamp: at / 1_000)
        let sound = Alert.sound(String(repeating: "a", count: Bounds.identifierBytesMax))
        return written(
            ActivityPlan(type, isShown: false), target, type.rings || type == .start ? sound : .none, at,
            title: "…",
            body: "…"
        ).count
    }

    private func written(
        _ plan: ActivityPlan, _ target: PushToken, _ alert: Alert, _ time: EpochMilliseconds, title: String,
        body: String
    ) -> [UInt8] {
        func seconds(_ after: Duration) -> Int64 { (time + after.inMilliseconds) / 1_000 }
        var writer = JSON.Writer(capacity: 1_024)
        writer.beginObject()
        writer.name("aps")
        writer.beginObject()
        writer.member("timestamp", target.stamp)
        writer.member("event", plan.event.rawValue)
        writer.name("content-state")
        writer.value(.object(state))
        if let stale = plan.staleAfter { writer.member("stale-date", seconds(stale)) }
        if let dismissal = plan.dismissAfter { writer.member("dismissal-date", seconds(dismissal)) }
        if plan.event == .start {
            writer.member("attributes-type", target.attributesType ?? "")
            writer.name("attributes")
            writeAttributes(to: &writer)
            // Makes the system ask the app for the token for updates (iOS 18).
            writer.member("input-push-token", 1)
        }
        if alert != .none {
            writer.name("alert")
            writer.beginObject()
            writer.member("title", title)
            writer.member("body", body)
            if case .sound(let name) = alert { writer.member("sound", name) }
            writer.endObject()
        }
        writer.endObject()
        writer.endObject()
        return writer.finish()
    }

    private func writeAttributes(to writer: inout JSON.Writer) {
        if let attributes { return writer.value(.object(attributes)) }
        writer.beginObject()
        writer.member("sessionID", sessionID)
        if let serverID { writer.member("serverID", serverID) }
        writer.endObject()
    }
}

/// A state that is waiting for its turn.
struct DeferredState: Sendable {
    let key: SecretKey
    /// The event's content, for the delivery log.
    let content: any PushContent
    var activity: ActivityContent
}
